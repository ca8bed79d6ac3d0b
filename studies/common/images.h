/* images.h - images and their labels from idx files.
 *
 * SPDX-License-Identifier: MIT */
#ifndef STUDIES_IMAGES_H
#define STUDIES_IMAGES_H

#include "study.h"

/* All rows of two idx files; pixels are divided by 255.  Gives x and y: images_free. */
fab_dataset images_read(const char *images, const char *labels);
void images_free(fab_dataset *t);

#endif
