# KL over that of Laplace while the rows come in: [L] Fig. 4, first seed.
set terminal svg size 1100,430 font "sans,12" background "white"
set output "curves.svg"
set datafile separator ","
set multiplot layout 1,3
set grid lc rgb "#dddddd"
set xlabel "rows seen"
set yrange [-150:800]
set key top right
is(s, name) = ($4 == s && $5 == 1 && strcol(7) eq name)
names = "'mirror prox (closed form)' 'mirror prox (1 draw)' 'mirror prox (10 draws)' 'mirror prox (100 draws)' 'default'"
colours = "#000000 #e69f00 #56b4e9 #0072b2 #d55e00"
do for [s = 1:3] {
    set title sprintf("sigma0 = %d", s)
    if (s > 1) { unset key }
    set ylabel (s == 1 ? "KL over that of Laplace, nats" : "")
    plot for [i = 1:5] "curves.csv" every ::1 using (is(s, word(names, i)) ? $8 : NaN):10 \
             with linespoints pt 7 ps 0.4 lw 2 lc rgb word(colours, i) title word(names, i), \
         0 lc rgb "#000000" dt 2 title "Laplace"
}
unset multiplot
