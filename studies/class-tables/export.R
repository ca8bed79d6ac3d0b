# export.R - tables of the packages mlbench, MASS and kernlab as csv, the target last: Rscript export.R FOLDER
# SPDX-License-Identifier: MIT
suppressMessages({library(mlbench); library(MASS); library(kernlab)})
folder <- commandArgs(TRUE)[1]
save_table <- function(d, target, name) {
    d <- d[complete.cases(d), ]
    y <- d[[target]]
    d[[target]] <- NULL
    d$target <- paste0("c", gsub("[^A-Za-z0-9]", "", as.character(y)))
    write.csv(d, file.path(folder, paste0(name, ".csv")), row.names = FALSE, quote = FALSE)
}
data(Sonar); save_table(Sonar, "Class", "sonar")
data(Ionosphere); Ionosphere$V1 <- as.numeric(Ionosphere$V1); Ionosphere$V2 <- NULL
save_table(Ionosphere, "Class", "ionosphere")
data(Glass); save_table(Glass, "Type", "glass")
save_table(synth.tr, "yc", "synth")
data(Vehicle); save_table(Vehicle, "Class", "vehicle")
data(PimaIndiansDiabetes); save_table(PimaIndiansDiabetes, "diabetes", "pima")
data(Vowel); save_table(Vowel, "Class", "vowel")
data(HouseVotes84); save_table(HouseVotes84, "Class", "votes")
data(Satellite); save_table(Satellite[seq(1, nrow(Satellite), by = 6), ], "classes", "satellite")
b <- biopsy; b$ID <- NULL; save_table(b, "class", "biopsy")
b <- birthwt; b$bwt <- NULL; b$race <- paste0("r", b$race); save_table(b, "low", "birthwt")
b <- crabs; b$kind <- paste0(b$sp, b$sex); b$sp <- b$sex <- b$index <- NULL; save_table(b, "kind", "crabs")
data(musk); save_table(musk, "Class", "musk")
data(spam); save_table(spam, "type", "spam")
# the tables that set the temperature
set.seed(1)
data(DNA); b <- DNA[sample(nrow(DNA), 600), ]; for (c in 1:180) b[[c]] <- as.numeric(b[[c]]); save_table(b, "Class", "dna")
data(LetterRecognition); save_table(LetterRecognition[sample(nrow(LetterRecognition), 1500), ], "lettr", "letter")
data(Zoo); for (c in 1:15) Zoo[[c]] <- as.numeric(Zoo[[c]]); save_table(Zoo, "type", "zoo")
data(Shuttle); b <- Shuttle[Shuttle$Class %in% c("Rad.Flow", "High", "Bypass"), ]; save_table(b[sample(nrow(b), 1500), ], "Class", "shuttle")
b <- mlbench.waveform(500); save_table(data.frame(b$x, y = b$classes), "y", "waveform")
b <- mlbench.twonorm(300); save_table(data.frame(b$x, y = b$classes), "y", "twonorm")
data(promotergene); promotergene$Class <- ifelse(promotergene$Class == "+", "yes", "no"); save_table(promotergene, "Class", "promoter")
b <- infert; b$stratum <- b$pooled.stratum <- NULL; b$case <- paste0("k", b$case); save_table(b, "case", "infert")
