# Error, NLL and predictive entropy of digits turned by an angle, means over the seeds: angles.csv
set terminal svg size 1100,760 font "sans,12" background "white"
set output "angles.svg"
set datafile separator ","
nets = system("tail -n +2 angles.csv | cut -d, -f1 | sort -ru | tr '\\n' ' '") # those that are there: mlp, conv
set multiplot layout words(nets),3
set grid lc rgb "#dddddd"
set xtics 45
set xrange [0:180]
is(net, name) = (strcol(1) eq net && strcol(2) eq name)
names = "map swag ensemble slang meanfield vifa-1 vifa"
colours = "#000000 #e69f00 #009e73 #cc79a7 #56b4e9 #0072b2 #d55e00"
there(net, name) = int(system("grep -c '^".net.",".name.",' angles.csv || true")) > 0
what = "error NLL 'entropy, nats'"
columns = "4 5 7"
do for [n = 1:words(nets)] {
    do for [w = 1:3] {
        set title word(nets, n).": ".word(what, w)
        set xlabel (n == words(nets) ? "degrees" : "")
        if (w == 1) { set key bottom right } else { unset key }
        c = int(word(columns, w))
        plot for [i = 1:words(names)] "angles.csv" every ::1 \
            using (is(word(nets, n), word(names, i)) ? $3 : NaN):c with linespoints pt 7 ps 0.5 lw 2 \
            lc rgb word(colours, i) title (there(word(nets, n), word(names, i)) ? word(names, i) : "")
    }
}
unset multiplot
