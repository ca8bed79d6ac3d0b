# Error of the kernel by m; ratio of standard deviations, and log density lost, by m.
set datafile separator ","
set terminal svg size 1000,820 font "sans,12" background "white"
set output "error.svg"
array kernel[2] = ["1*rbf:l=1", "1*matern32:l=1"]
pick(file, k, by) = "< awk -F, '$1 == \"".kernel[k]."\"".(by eq "" ? "" : " && $2 == \"".by."\"")."' ".file
set logscale x 2
set xlabel "m"
set multiplot layout 2,2
set logscale y
set format y "10^{%T}"
set key bottom left
do for [k=1:2] {
    set title kernel[k].": rms error of k"
    plot [8:1024] [1e-5:1] pick("kernel.csv", k, "") using 2:3 with linespoints lw 2 title "rff", \
         "" using 2:4 with lines lw 2 dt 2 lc "gray" title "the formula", \
         "" using 2:5 with linespoints lw 2 title "orthogonal rff", "" using 2:6 with linespoints lw 2 title "nystrom"
}
unset logscale y
set format y "%g"
set key top right
do for [k=1:2] {
    set title kernel[k].": sd of f, as a ratio to the exact one"
    plot [16:512] [0:3] for [by in "rff nystrom vfe fitc"] pick("posterior.csv", k, by) using 3:4 with linespoints lw 2 title by, \
         1 with lines lc "gray" dt 2 notitle
}
unset multiplot
