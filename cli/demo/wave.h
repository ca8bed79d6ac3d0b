/* wave.h - the rows of wave.csv and wave_held_out.csv, and where there are none.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_WAVE_H
#define CLI_WAVE_H

enum { WAVE_TRAIN = 150, WAVE_HELD_OUT = 1000 };
#define WAVE_LEFT     -4.0 /* x of wave.csv */
#define WAVE_RIGHT    4.0
#define WAVE_GAP_FROM -1.2
#define WAVE_GAP_TO   1.6
#define WAVE_NOISE    0.15

#endif
