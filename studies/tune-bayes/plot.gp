# The least nll by trials: the median of the seeds, and half of them around it; a panel for each tune and table that curves.csv has.
set datafile separator ","
panels = system("tail -n +2 curves.csv | cut -d, -f1,2 | sort -u | tr '\\n' ' '")
columns = words(panels) > 1 ? 2 : 1
lines = (words(panels) + columns - 1) / columns
set terminal svg size 500*columns,360*lines font "sans,12" background "white"
set output "curves.svg"
set xlabel "trials"
set ylabel "least mean nll of five folds"
set key top right
set style fill transparent solid 0.25 noborder
set multiplot layout lines,columns
do for [p in panels] {
    set title p
    plot [3:30] "< grep '^".p.",random,' curves.csv" using 4:6:8 with filledcurves lc rgb "#888888" notitle, \
         "< grep '^".p.",bayes,' curves.csv" using 4:6:8 with filledcurves lc rgb "#0072b2" notitle, \
         "< grep '^".p.",random,' curves.csv" using 4:7 with lines lw 2 lc rgb "#555555" title "random", \
         "< grep '^".p.",bayes,' curves.csv" using 4:7 with lines lw 2 lc rgb "#0072b2" title "bayes"
}
unset multiplot
