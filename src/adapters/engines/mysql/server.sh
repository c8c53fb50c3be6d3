#!/bin/sh
# Finds out which of the two the image has: MariaDB, or MySQL. It is read by copy.sh and serve.sh.

case $(mysqld --version 2> /dev/null) in
  "" | *MariaDB*) server=mariadbd ;;
  *) server=mysqld ;;
esac
