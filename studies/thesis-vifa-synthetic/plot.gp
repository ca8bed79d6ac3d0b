# [T] Fig. 5.1: the density of the posterior and that of vifa's rank one, first seed.
set terminal svg size 900,420 font "sans,13" background "white"
set output "density.svg"
set multiplot layout 1,2
set view map
set contour base
unset surface
set cntrparam levels 8
unset key
set xlabel "{/Symbol q}_1"
set ylabel "{/Symbol q}_2"
set title "posterior"
splot "density.dat" using 1:2:3 with lines lw 1.5
set title "vifa (default), K = 1"
splot "density.dat" using 1:2:4 with lines lw 1.5
unset multiplot
