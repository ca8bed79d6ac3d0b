# Iterates and window means of one trial over the contours of the posterior (1, 2, 3 standard deviations).
set datafile separator ","
set terminal svg size 900,600 font "sans,11" background "white"
set output "iterates.svg"
set key off
set multiplot layout 2,3
array name[6] = ["rate 0.1, lambda 0.1", "rate 0.1, lambda 0.001", "windows of 10, batch 100", "rate 0.01, lambda 0.1", "rate 0.01, lambda 0.001", "windows of 50, batch 10"]
set xlabel "theta 1"
set ylabel "theta 2"
do for [i=0:5] {
    set title name[i+1]
    plot "iterates.csv" using ($1==i ? $2 : NaN):3 with points pt 7 ps 0.3 lc rgb "#c03030", \
         for [r=1:3] "" using ($1==-r ? $2 : NaN):3 with lines lw 1.5 lc rgb "#3060a0"
}
unset multiplot
