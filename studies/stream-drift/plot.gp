# Nats a row below the true mixture against how fast the past is forgotten, a curve for each speed; online-mfa.
set terminal svg size 700,420 font "sans,13" background "white"
set output "drift.svg"
set datafile separator ","
set logscale xy
set xlabel "rows that a part remembers, 1 / (1 - forget)"
set ylabel "nats a row below the true mixture"
set grid lc rgb "#dddddd"
set key bottom right
remembers(s) = s[1:7] eq "forget=" ? 1 / (1 - real(s[8:])) : NaN
plot for [i=1:4] "results.csv" using ((stringcolumn(2) eq "online-mfa" && $1 == real(word("0 5 20 80", i))) ? remembers(stringcolumn(3)) : NaN):6 \
    with linespoints pt 7 ps 0.6 lw 2 lc rgb word("#999999 #0072b2 #e69f00 #009e73", i) title "way of ".word("0 5 20 80", i)." deviations"
