# losses.svg: the losses of the notes, Figures 2.1 and 2.2.
set terminal svg size 900,380 background 'white'
set output 'losses.svg'
set datafile separator ','
set multiplot layout 1,2
set key top center
set grid
set yrange [0:4]
set title 'two classes'
set xlabel 'y f(x)'
plot 'curves.csv' using 1:2 skip 1 with steps lw 2 title '0/1', \
     '' using 1:7 skip 1 with lines lw 2 title 'hinge', \
     '' using 1:9 skip 1 with lines lw 2 title 'exponential', \
     '' using 1:($8/log(2)) skip 1 with lines lw 2 title 'logistic / log 2'
set title 'numbers'
set xlabel 'y - f(x)'
plot 'curves.csv' using 1:3 skip 1 with lines lw 2 title 'squared', \
     '' using 1:4 skip 1 with lines lw 2 title 'absolute', \
     '' using 1:5 skip 1 with lines lw 2 title 'pinball, tau = .9', \
     '' using 1:6 skip 1 with lines lw 2 title 'eps-insensitive, eps = .5'
unset multiplot
