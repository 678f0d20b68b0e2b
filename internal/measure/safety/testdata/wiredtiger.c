/*
 * Stores rows with WiredTiger, MongoDB's storage engine, as mongod does: with a log that is synced at each commit.
 *
 *   wiredtiger write FOLDER N   commits N rows, one by one, and prints the number of each after its commit; then it waits
 *   wiredtiger read FOLDER      recovers, verifies the table and prints how many rows it has, without a gap from 1 on
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wiredtiger.h>

static void check(int error, const char *what) {
  if (error == 0) return;
  fprintf(stderr, "%s: %s\n", what, wiredtiger_strerror(error));
  exit(1);
}

int main(int argc, char **argv) {
  WT_CONNECTION *connection;
  WT_SESSION *session;
  WT_CURSOR *cursor;
  int error, n, key;
  const char *value;
  char row[101] = {0};

  if (argc < 3) return 2;
  memset(row, 'x', 100);
  check(wiredtiger_open(argv[2], NULL, "create,cache_size=64M,log=(enabled=true),transaction_sync=(enabled=true,method=fsync)", &connection), "open");
  check(connection->open_session(connection, NULL, NULL, &session), "session");
  check(session->create(session, "table:t", "key_format=i,value_format=S"), "create");
  if (strcmp(argv[1], "read") == 0) check(session->verify(session, "table:t", NULL), "verify");
  check(session->open_cursor(session, "table:t", NULL, NULL, &cursor), "cursor");
  if (strcmp(argv[1], "write") == 0) {
    for (n = 1; n <= atoi(argv[3]); n++) {
      check(session->begin_transaction(session, NULL), "begin");
      cursor->set_key(cursor, n);
      cursor->set_value(cursor, row);
      check(cursor->insert(cursor), "insert");
      check(session->commit_transaction(session, NULL), "commit");
      /* A checkpoint halfway: recovery then needs both the table and the log. */
      if (n == atoi(argv[3]) / 2) check(session->checkpoint(session, NULL), "checkpoint");
      printf("%d\n", n);
      fflush(stdout);
    }
    for (;;) pause();
  }
  for (n = 0; (error = cursor->next(cursor)) == 0; n++) {
    check(cursor->get_key(cursor, &key), "key");
    check(cursor->get_value(cursor, &value), "value");
    if (key != n + 1 || strcmp(value, row) != 0) {
      fprintf(stderr, "row %d is lost or damaged\n", n + 1);
      return 1;
    }
  }
  if (error != WT_NOTFOUND) check(error, "next");
  printf("%d\n", n);
  return connection->close(connection, NULL) != 0;
}
