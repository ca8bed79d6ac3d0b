# NLL of the one-pass methods over that of full Laplace: mean, least and largest of the row orders.
set terminal svg size 1000,460 font "sans,13" background "white"
set output "ratios.svg"
set datafile separator ","
sets = "a1a,australian,breast-cancer,usps 3v5,mushrooms,madelon"
count = 6
name(i) = system(sprintf("echo '%s' | cut -d, -f%d", sets, i))
at(s) = sum [i = 1:count] (name(i) eq s ? i : 0)
set logscale x 2
set xrange [0.7:2.1]
set xtics (0.75, 0.8, 0.9, 1, 1.1, 1.2, 1.5, 2)
set label "off the scale, below 0.1" at 0.715, 5
set xlabel "test NLL over that of full Laplace at the same alpha"
set yrange [count + 0.6:0.4]
set ytics ()
do for [i = 1:count] { set ytics add (name(i) i) }
set grid lc rgb "#dddddd"
set key outside above horizontal
set arrow from 1.02, graph 0 to 1.02, graph 1 nohead lw 1.5 lc rgb "#d55e00"
set label "1.02" at 1.03, graph 0.04 tc rgb "#d55e00"
is(a, m) = (strcol(2) eq a && strcol(3) eq m)
row(shift) = at(strcol(1)) + shift
plot "ratios.csv" every ::1 using (is("evidence", "lrvga") ? $4 : NaN):(row(-0.2)):5:6 with xerrorbars pt 7 ps 0.7 lw 2 lc rgb "#0072b2" title "lrvga, rank 10, alpha by evidence", \
     "" every ::1 using (is("one", "lrvga") ? $4 : NaN):(row(0)):5:6 with xerrorbars pt 7 ps 0.7 lw 2 lc rgb "#56b4e9" title "lrvga, rank 10, alpha = 1", \
     "" every ::1 using (is("one", "rvga") ? $4 : NaN):(row(0.2)):5:6 with xerrorbars pt 7 ps 0.7 lw 2 lc rgb "#999999" title "full rvga, alpha = 1"
