# Distance of the covariance of n draws from the exact one.
set terminal svg size 700,430 font "sans,13" background "white"
set output "entries.svg"
set datafile separator ","
set logscale xy
set format x "10^{%L}"
set xlabel "draws"
set ylabel "distance of their covariance from the exact one"
set grid lc rgb "#dddddd"
set key top right
is(name) = strcol(3) eq name
plot "entries.csv" every ::1 using 4:(is("ensemble") ? $5 : NaN) with points pt 7 ps 0.9 lc rgb "#0072b2" title "ensemble sampling (the library)", \
     "" every ::1 using 4:(is("cholesky") ? $5 : NaN) with points pt 6 ps 1.6 lw 2 lc rgb "#d55e00" title "Cholesky of the dense covariance", \
     10 / sqrt(x) with lines lc rgb "#999999" title "10 / sqrt(draws)"
