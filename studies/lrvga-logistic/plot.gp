# KL to the true posterior over that of Laplace while the rows come in: two clusters, first seed.
set terminal svg size 800,450 font "sans,13" background "white"
set output "curves.svg"
set datafile separator ","
set grid lc rgb "#dddddd"
set xlabel "rows seen"
set ylabel "KL over that of Laplace, nats"
set xrange [0:10300]
set yrange [-250:1500]
set key top right
is(rank, name) = (strcol(1) eq "clusters" && $5 == 1 && $6 == rank && strcol(7) eq name)
colours = "#e69f00 #56b4e9 #0072b2 #d55e00"
ranks = "1 2 10 100"
authors = "395 365 213 20"
plot for [i = 1:4] "results.csv" every ::1 using (is(word(ranks, i) + 0, "lrvga (default)") ? $8 : NaN):10 \
         with linespoints pt 7 ps 0.4 lw 2 lc rgb word(colours, i) title "lrvga, p = ".word(ranks, i), \
     for [i = 1:4] "+" using (10000):(word(authors, i) + 0) every ::0::0 \
         with points pt 6 ps 1.3 lw 2 lc rgb word(colours, i) title (i == 1 ? "[L]'s program, at the end" : ""), \
     "results.csv" every ::1 using (is(1000, "rvga") ? $8 : NaN):10 with points pt 2 ps 1 lw 2 lc rgb "#666666" \
         title "full rvga, at the end", \
     0 lc rgb "#000000" dt 2 title "Laplace"
