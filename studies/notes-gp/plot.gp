# Bands of three kernels at 12 rows; and the evidence of a table with two optima.
set datafile separator ","
set terminal svg size 1000,360 font "sans,12" background "white"
set output "bands.svg"
array kernel[3] = ["rbf", "matern32", "rbf + linear"]
set key bottom left samplen 2
set xlabel "x"
set multiplot layout 1,3
do for [k=1:3] {
    set title kernel[k]
    c = 3 + 4 * (k - 1)
    plot [-6:6] [-7:4] "bands.csv" index 1 using 1:c+1:c+2 with filledcurves lc rgb "#c0d8f0" title "90 % of f", \
         "" index 1 using 1:c with lines lw 2 lc rgb "#0072b2" title "mean", \
         "" index 1 using 1:c+3 with lines lw 1 lc rgb "#7f7f7f" title "a draw", \
         "" index 1 using 1:2 with lines lw 2 dt 2 lc rgb "#d55e00" title "f", \
         "" index 0 using 1:2 with points pt 7 lc rgb "#c03030" title "rows"
    set key off
}
unset multiplot
set terminal svg size 900,420 font "sans,12" background "white"
set output "evidence.svg"
set multiplot layout 1,2
set key off
set logscale x
set title "best log evidence by length-scale"
set xlabel "l"
set ylabel "max over the noise of log p(y)"
plot "< awk -F, 'NF == 3 {if (!($1 in m) || $3 > m[$1]) m[$1] = $3} END {for (l in m) print l \",\" m[l]}' grid.csv | sort -g" using 1:2 with lines lw 2
set title "log evidence by length-scale and noise"
set logscale xy
set ylabel "sd of the noise"
set view map
set contour base
unset surface
unset colorbox
set cntrparam levels discrete -9,-9.05,-9.1,-9.15,-9.2,-9.3,-9.5,-10,-11,-13,-17
set cntrlabel onecolor
splot [0.05:20] [0.02:3] "grid.csv" using 1:2:3 with lines lw 1.5
unset multiplot
