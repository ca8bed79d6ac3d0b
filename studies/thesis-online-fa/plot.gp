# Learning curves, one panel per cell of [T] Fig. 4.1: distance of the covariance against rows seen.
set terminal svg size 1000,1050 font "sans,13" background "white"
set output "curves.svg"
set multiplot layout 3,2 title "Distance of the learned covariance from the truth (mean of ten seeds)"
set logscale xy
set format x "10^{%L}"
set format y "%g"
set yrange [0.01:10]
set grid lc rgb "#dddddd"
set key top right samplen 1.5 spacing 1.05 font ",10"
cell(D, hi, m) = sprintf("(%d, 10, 1.0, %.1f, 'rows') %s", D, hi, m)
do for [hi in "10 100 1000"] {
    do for [D in "100 1000"] {
        set title sprintf("D = %s, spectrum [1, %s]", D, hi)
        set xlabel (hi eq "1000" ? "rows seen" : "")
        plot "means.dat" index cell(int(D), real(hi), "online-sga [T]") using 1:2:3 with yerrorlines lc rgb "#999999" pt 7 ps 0.4 title "online SGA [T]", \
             "" index cell(int(D), real(hi), "online-em [T]") using 1:2:3 with yerrorlines lc rgb "#e69f00" pt 7 ps 0.4 title "online EM [T]", \
             "" index cell(int(D), real(hi), "online-em") using 1:2:3 with yerrorlines lc rgb "#56b4e9" pt 7 ps 0.4 title "online EM", \
             "" index cell(int(D), real(hi), "recursive-em") using 1:2:3 with yerrorlines lw 2 lc rgb "#0072b2" pt 7 ps 0.4 title "recursive EM (default)", \
             "" index cell(int(D), real(hi), "ml") using 1:2 with points lc rgb "#d55e00" pt 6 ps 1.2 lw 2 title "maximum likelihood, batch"
    }
}
unset multiplot
