# The posterior of ten points (contour lines) and the ellipses of two standard deviations: one row for each separation.
set terminal svg size 1100,600 font "sans,12" background "white"
set output "plane.svg"
do for [s in "6 3"] {
    set table "contour-".s.".dat"
    set contour base
    set cntrparam levels discrete 0.02, 0.135, 0.4, 0.8
    unset surface
    splot "grid-".s.".dat" using 1:2:3
    unset table
}
unset contour
set multiplot layout 2,4 title "explicit, implicit, extra-gradient, mirror prox; dashed: Laplace"
unset key
set grid lc rgb "#eeeeee"
do for [s in "6 3"] {
    do for [m in "explicit implicit extra-gradient mirror-prox"] {
        set title m.", s = ".s
        plot "contour-".s.".dat" using 1:2 with lines lc rgb "#009e73", \
             m."-".s.".dat" using 1:2 with lines lw 2 lc rgb "#d55e00", \
             "laplace-".s.".dat" using 1:2 with lines dt 2 lc rgb "#000000"
    }
}
unset multiplot
