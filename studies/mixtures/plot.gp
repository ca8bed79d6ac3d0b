# BIC against the number of clusters, a curve for each covariance.
set terminal svg size 900,330 font "sans,12" background "white"
set output "bic.svg"
set datafile separator ","
set xlabel "clusters"
set grid lc rgb "#dddddd"
set key top right
set multiplot layout 1,3
do for [t in "iris wine faithful"] {
    set title t
    set ylabel "BIC"
    plot for [i=1:4] "results.csv" using ((stringcolumn(1) eq t && stringcolumn(2) eq word("full tied diag spherical", i)) ? $3 : NaN):5 \
        with linespoints pt 7 ps 0.6 lw 2 lc rgb word("#0072b2 #e69f00 #009e73 #999999", i) title word("full tied diag spherical", i)
}
unset multiplot
