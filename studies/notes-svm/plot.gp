# Margins without and with errors (Figs 3.4 and 3.6), the hinge (Fig 3.5), and nu against the shares that it bounds.
set datafile separator ","
set clip two
set terminal svg size 1000,460 font "sans,11" background "white"
set output "margins.svg"
set multiplot layout 1,2
set key top left
do for [figure in "3.4 3.6"] {
    set title "Fig ".figure
    set xrange [-6:6]
    set yrange [-6:6]
    plot "< grep '^".figure.",' points.csv" using 2:($4 > 0 ? $3 : NaN) with points pt 7 ps 0.6 lc "#1f77b4" title "y = 1", \
         "< grep '^".figure.",' points.csv" using 2:($4 < 0 ? $3 : NaN) with points pt 5 ps 0.6 lc "#d62728" title "y = -1", \
         "< grep '^".figure.",' points.csv" using 2:(abs($5) <= 1.0001 || $6 > 1e-6 ? $3 : NaN) with points pt 6 ps 1.2 lc "black" title "support vectors", \
         "< grep '^".figure.",-1,' lines.csv" using 3:4 with lines dt 2 lc "gray" notitle, \
         "< grep '^".figure.",1,' lines.csv" using 3:4 with lines dt 2 lc "gray" notitle, \
         "< grep '^".figure.",0,' lines.csv" using 3:4 with lines lc "black" notitle
}
unset multiplot
set terminal svg size 1000,400 font "sans,11" background "white"
set output "nu.svg"
set multiplot layout 1,2
set title "Fig 3.5: what a row costs, by y f"
set xrange [-2:3]
set yrange [-0.1:3]
set key top right
plot (x < 1 ? 1 - x : 0) with lines lw 2 title "hinge", (x < 0 ? 1 : 0) with steps lw 2 title "0/1, wrong", (x < 1 ? 1 : 0) with steps dt 2 lw 2 title "0/1, margin errors"
set title "shares of rows by nu"
set xrange [0:1]
set yrange [0:1]
set key top left
plot "< grep '^rbf' nu.csv" using 2:4 with linespoints lw 2 title "support vectors, rbf", "< grep '^rbf' nu.csv" using 2:3 with linespoints lw 2 title "margin errors, rbf", \
     "< grep 'linear' nu.csv" using 2:4 with linespoints title "support vectors, linear", "< grep 'linear' nu.csv" using 2:3 with linespoints title "margin errors, linear", x with lines dt 2 lc "gray" title "nu"
unset multiplot
