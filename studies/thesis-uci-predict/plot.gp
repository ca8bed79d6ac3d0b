# plot.gp - results.csv of this folder as scores.svg: NMLL of every split, ours, with the published mean and standard error.
set terminal svg size 900,420 font "sans,13" background "white"
set output "scores.svg"
set datafile separator ","
set multiplot layout 1,2 title "[T] Table 5.2, 20 splits: points ours, bars published mean and standard error"
set style data points
set xrange [0.4:4.6]
set xtics ("energy" 1, "boston" 2, "concrete" 3, "yacht" 4)
set key top left
at(s) = s eq "energy" ? 1 : s eq "boston-housing" ? 2 : s eq "concrete" ? 3 : 4
set ylabel "NMLL"
set yrange [1:5.5]
set title "NMLL"
$lr << E
1,2.57,0.02,3.07,0.06
2,3.07,0.12,4.64,0.23
3,3.77,0.02,10.34,0.15
4,3.65,0.04,8.96,0.29
E
$nn << E
1,2.53,0.02,2.90,0.06
2,2.66,0.06,3.64,0.23
3,3.34,0.01,6.77,0.09
4,2.36,0.06,2.51,0.09
E
plot "results.csv" every ::1 using (at(strcol(2)) - 0.2):(strcol(1) eq "vifa-lr" ? $4 : 1/0) pt 6 ps 0.6 lc rgb "#4477aa" title "linear", \
     "results.csv" every ::1 using (at(strcol(2)) + 0.2):(strcol(1) eq "vifa-nn" ? $4 : 1/0) pt 6 ps 0.6 lc rgb "#cc6677" title "network", \
     "results.csv" every ::1 using (at(strcol(2)) + 0.35):(strcol(1) eq "slang-nn" ? $4 : 1/0) pt 2 ps 0.7 lc rgb "#117733" title "network, slang", \
     $lr using ($1 - 0.3):2:3 with yerrorbars pt 5 ps 0.6 lc rgb "#223355" title "linear, [T]", \
     $nn using ($1 + 0.1):2:3 with yerrorbars pt 5 ps 0.6 lc rgb "#882233" title "network, [T]"
set title "RMSE"
set yrange [0:12]
set ylabel "RMSE"
plot "results.csv" every ::1 using (at(strcol(2)) - 0.2):(strcol(1) eq "vifa-lr" ? $5 : 1/0) pt 6 ps 0.6 lc rgb "#4477aa" notitle, \
     "results.csv" every ::1 using (at(strcol(2)) + 0.2):(strcol(1) eq "vifa-nn" ? $5 : 1/0) pt 6 ps 0.6 lc rgb "#cc6677" notitle, \
     "results.csv" every ::1 using (at(strcol(2)) + 0.35):(strcol(1) eq "slang-nn" ? $5 : 1/0) pt 2 ps 0.7 lc rgb "#117733" notitle, \
     $lr using ($1 - 0.3):4:5 with yerrorbars pt 5 ps 0.6 lc rgb "#223355" notitle, \
     $nn using ($1 + 0.1):4:5 with yerrorbars pt 5 ps 0.6 lc rgb "#882233" notitle
unset multiplot
