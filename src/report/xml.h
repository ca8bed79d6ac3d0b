/* xml.h - text inside of XML.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_REPORT_XML_H
#define FAB_REPORT_XML_H

#include "base/text.h"

/* Add `s` with the characters that mean something in XML written as entities; control characters, which
 * XML does not know, become blanks. */
void fab_xml_add(fab_text *t, const char *s);

#endif
