# Log-likelihood and coverage of every split, with their means and the references.
set terminal svg size 1000,420 font "sans,13" background "white"
set output "scores.svg"
set datafile separator ","
sets = "boston-housing concrete energy yacht kin8nm power-plant wine-quality-red"
reference(i) = word("-2.969 -3.754 -2.543 -3.622 NaN NaN NaN", i) + 0
at(name) = sum [i = 1:words(sets)] (word(sets, i) eq name ? i : 0)
set multiplot layout 1,2
set grid lc rgb "#dddddd"
set yrange [7.6:0.4]
set ytics ()
do for [i = 1:words(sets)] { set ytics add (word(sets, i) i) }
set key top right opaque
jitter(i) = 0.5 * (i / 19.0 - 0.5)
set title "log-likelihood of a test row, 20 splits"
plot "results.csv" every ::1 using (-$10):(at(strcol(1)) + jitter($2)) with points pt 7 ps 0.4 lc rgb "#0072b2" title "one split", \
     "+" using (reference(int($0 + 1))):($0 + 1) every ::0::6 with points pt 6 ps 1.6 lw 2 lc rgb "#d55e00" title "reference, mean"
set title "share of test rows inside the 90 % interval"
unset key
set arrow from 0.9, graph 0 to 0.9, graph 1 nohead lw 1.5 lc rgb "#d55e00"
plot "results.csv" every ::1 using 13:(at(strcol(1)) + jitter($2)) with points pt 7 ps 0.4 lc rgb "#0072b2" notitle
unset multiplot
