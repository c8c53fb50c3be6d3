#!/bin/sh
# The function that writes the configuration of a ClickHouse server: its address $1, its port $2, and further elements
# $3. It is read by copy.sh and serve.sh. The root has the name that old servers want and new ones take.
#
# Variables: DATA, with the file timezone in it.

# One process is the server; no variable of the image may lead the programs elsewhere.
export CLICKHOUSE_WATCHDOG_ENABLE=0
unset CLICKHOUSE_HOST CLICKHOUSE_USER CLICKHOUSE_PASSWORD CLICKHOUSE_DB CLICKHOUSE_CONFIG
configure() {
  cat > "$DATA/config.xml" << END
<yandex>
  <logger><level>warning</level><console>true</console></logger>
  <listen_host>$1</listen_host>
  <tcp_port>$2</tcp_port>
  $3
  <path>$DATA/store/</path>
  <tmp_path>$DATA/store/tmp/</tmp_path>
  <user_files_path>$DATA/store/user_files/</user_files_path>
  <format_schema_path>$DATA/store/format_schemas/</format_schema_path>
  <access_control_path>$DATA/store/access/</access_control_path>
  <users_config>users.xml</users_config>
  <default_profile>default</default_profile>
  <default_database>default</default_database>
  <mark_cache_size>1073741824</mark_cache_size>
  $(cat "$DATA/timezone")
</yandex>
END
}
