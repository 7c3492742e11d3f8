// SPDX-License-Identifier: Apache-2.0
// The system's zlib, which compresses the objects of repositories (RegnumBackup, trait Compression).
#include <zlib.h>
