# Three functions of each kernel; and how far Matern and rq are from rbf.
set datafile separator ","
set terminal svg size 1000,1040 font "sans,11" background "white"
set output "draws.svg"
set key off
array kernel[11] = ["1*rbf:l=1", "1*matern12:l=1", "1*matern32:l=1", "1*matern52:l=1", "1*matern:nu=3.7:l=1", "1*rq:l=1:a=0.5", \
    "1*periodic:l=1:p=2", "1*linear", "1*poly:m=3:c=1", "1*rbf:l=1*periodic:l=1:p=1", "1*rbf:l=0.3 + 4*linear"]
set multiplot layout 4,3
do for [i=1:11] {
    set title kernel[i]
    plot for [c=3:5] "< awk -F, '$1 == \"".kernel[i]."\"' draws.csv" using 2:c with lines lw 1.5
}
unset multiplot
set terminal svg size 700,420 font "sans,12" background "white"
set output "limits.svg"
set title "largest difference from rbf, l = 1"
set logscale xy
set key top right
set xlabel "nu or a"
set ylabel "max |k - rbf|"
plot "< grep '^matern' limits.csv" using 2:3 with linespoints lw 2 title "matern, by nu", \
     "< grep '^rq' limits.csv" using 2:3 with linespoints lw 2 title "rq, by a", 0.2306 / x with lines dt 2 lc "gray" title "0.2306 / x", 0.2707 / x with lines dt 3 lc "gray" title "0.2707 / x"
