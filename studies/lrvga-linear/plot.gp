# KL to the exact posterior after one pass against the rank.
set terminal svg size 700,450 font "sans,13" background "white"
set output "ranks.svg"
set datafile separator ","
set logscale xy
set xrange [0.9:110]
set xtics (1, 2, 5, 10, 20, 50, 100)
set xlabel "rank p"
set ylabel "KL to the exact posterior, nats (mean of the seeds)"
set grid lc rgb "#dddddd"
set key bottom left
plot "means.csv" every ::1 using 1:2 with linespoints pt 6 lw 2 lc rgb "#999999" title "[L], its program", \
     "" every ::1 using 1:3 with linespoints pt 7 ps 0.6 lw 2 lc rgb "#e69f00" title "[L]'s scheme here", \
     "" every ::1 using 1:4 with linespoints pt 7 ps 0.6 lw 2 lc rgb "#56b4e9" title "inner\\_rank = K", \
     "" every ::1 using 1:5 with linespoints pt 7 ps 0.6 lw 2 lc rgb "#0072b2" title "lrvga (default)", \
     "" every ::1 using 1:6 with lines dt 2 lw 2 lc rgb "#000000" title "best precision of rank p"
