# Median regret of 20 seeds by evaluations, one panel for each function; and Figure 7.1 of the notes.
set datafile separator ","
set terminal svg size 1000,760 font "sans,12" background "white"
set output "regret.svg"
set logscale y
set format y "10^{%T}"
set xlabel "evaluations"
set ylabel "median regret"
set key bottom left
array name[4] = ["branin", "hartmann6", "goldstein-price", "levy4"]
set multiplot layout 2,2
do for [i=1:4] {
    set title name[i]
    plot for [w in "random ei ucb thompson"] "< grep '^".name[i].",".w.",' curves.csv" using 3:5 with lines lw 2 title w, \
         for [w in "skopt botorch"] "< grep '^".name[i].",".w.",' peers.csv" using 3:5 with lines lw 2 dt 2 title w
}
unset multiplot
unset logscale y
set format y "%g"
set terminal svg size 1000,420 font "sans,12" background "white"
set output "figure.svg"
set xlabel "x"
set ylabel "f"
set key bottom right
set multiplot layout 1,2
do for [i=0:1] {
    set title sprintf("after %d evaluations", 10 + 10 * i)
    plot [-5:5] [-1.2:0.5] "bands.csv" index 2 * i + 1 using 1:4:5 with filledcurves lc rgb "#c0d8f0" title "5 % to 95 %", \
         "" index 2 * i + 1 using 1:3 with lines lw 2 lc rgb "#0072b2" title "median", \
         "" index 2 * i + 1 using 1:2 with lines lw 2 dt 2 lc rgb "#d55e00" title "f", \
         "" index 2 * i using 1:2 with points pt 7 lc rgb "#c03030" title "evaluations"
}
unset multiplot
