# Rank histograms, one panel for each model and method: the height is 1 where the posterior is right.
set terminal svg size 1000,800 font "sans,13" background "white"
set output "ranks.svg"
set datafile separator ","
set multiplot layout 3,3 title "Rank of the true coefficient among 99 draws of its posterior (1000 data sets, all coordinates)"
set xtics ("0" -0.5, "25" 4.5, "50" 9.5, "75" 14.5, "100" 19.5)
set style fill solid 0.6
set boxwidth 0.9
unset key
do for [i=0:8] {
    stats "ranks.csv" index i using (name = strcol(1), $2) nooutput
    set title name
    plot [-0.7:19.7] [0:2] "ranks.csv" index i using 2:3 with boxes lc rgb "#0072b2", 1 lc rgb "#d55e00" lw 2
}
unset multiplot
