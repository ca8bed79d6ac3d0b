# [T] Figs 5.2, 5.3, B.4 and B.5: posterior and vifa (K = 3) of one half of a set.  ARG1: data, ARG2: name of the set
set terminal svg size 1000,760 font "sans,13" background "white"
set output ARG2.".svg"
set multiplot layout 2,2 title ARG2
set grid y lc rgb "#dddddd"
set style data histograms
set style fill solid 0.8 noborder
set key top right
set title "means"
plot ARG1 index 0 using 1 lc rgb "#999999" title "posterior", "" index 0 using 2 lc rgb "#0072b2" title "vifa"
set title "variances"
plot ARG1 index 0 using 3 lc rgb "#999999" title "posterior", "" index 0 using 4 lc rgb "#0072b2" title "vifa"
unset key
unset grid
set size square
set autoscale fix
stats ARG1 index 1 matrix nooutput
most = abs(STATS_min) > abs(STATS_max) ? abs(STATS_min) : abs(STATS_max)
set cbrange [-most:most]
set palette defined (-1 "#d55e00", 0 "#ffffff", 1 "#0072b2")
set title "covariances, posterior"
plot ARG1 index 1 matrix with image
set title "covariances, vifa"
plot ARG1 index 2 matrix with image
unset multiplot
