// SPDX-License-Identifier: Apache-2.0
// SQLite's own header, as Debian's libsqlite3-dev installs it.
#include <sqlite3.h>
