// SPDX-License-Identifier: Apache-2.0
// The GD graphics library: Debian's libgd-dev.
#include <gd.h>
