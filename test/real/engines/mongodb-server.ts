/**
 * A stand-in for MongoDB's server as a source, and the serving container of a branch beside it. The other programs are
 * MongoDB's own.
 */

import { spawn } from "node:child_process"
import { chmodSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { MongoClient } from "mongodb"
import { enginePath } from "../../../lab/playground/engine-programs.ts"
import { eventually } from "../../support/eventually.ts"
import type { Command } from "./branch-containers.ts"
import { nobody } from "./postgresql-server.ts"

/**
 * `mongod` with the arguments that branches give it, played by FerretDB. `BIND_FIRST`: it has its socket before it
 * listens, until a program was refused.
 */
const mongod = `#!/bin/sh
login=off
while [ "$#" -gt 0 ]; do
  case $1 in
    --dbpath) data=$2 && shift ;;
    --port) port=$2 && shift ;;
    --bind_ip) place=$2 && shift ;;
    --auth) login=on ;;
    --unixSocketPrefix) sockets=$2 && shift ;;
    --nounixsocket) ;;
    --ipv6) ;;
    *) echo "mongod has no argument $1" >&2; exit 2 ;;
  esac
  shift
done
case $place in
  /*.sock)
    [ -d "\${sockets-}" ] || { echo "mongod would make a socket of its own in the usual folder" >&2; exit 2; }
    if [ -n "\${BIND_FIRST-}" ]; then
      node -e 'require("net").createServer().listen(process.argv[1], () => process.kill(process.pid, 9))' "$place"
      (
        until grep -qs ECONNREFUSED "\${place%/*}/log"; do
          [ -d "\${place%/*}" ] || exit
          sleep 0.05
        done
        mv -f "$place.own" "$place"
      ) > /dev/null 2>&1 &
      place=$place.own
    fi
    set -- --listen-unix="$place" --listen-addr=
    ;;
  *) set -- --listen-addr="$place:$port" ;;
esac
FERRETDB_LOGIN=$login exec ferretdb "$@" --handler=sqlite --sqlite-url="file:$data/" --state-dir="$data" \\
  --debug-addr=- --telemetry=disable --test-enable-new-auth --log-level=ERROR
`

/** FerretDB refuses indexes as MongoDB describes them, so branches lack them here. */
const mongorestore = `#!/bin/sh
PATH=\${PATH#*:}
exec mongorestore --noIndexRestore "$@"
`

/** The search path of the programs, of which two are made in a folder. */
export const mongodbPath = (folder: string): string => {
  const own = join(folder, "bin")
  mkdirSync(own)
  for (const [name, text] of Object.entries({ mongod, mongorestore })) {
    writeFileSync(join(own, name), text)
    chmodSync(join(own, name), 0o755)
  }
  chmodSync(folder, 0o755)
  return `${own}:${enginePath(process.env)}`
}

/** A server that listens to an address of its own. */
export interface MongodbServer {
  readonly client: MongoClient
  readonly stop: () => Promise<void>
}

/** Starts a server whose user root has this password. */
export const startMongodb = async (
  { command, env }: Command,
  address: string,
  password: string
): Promise<MongodbServer> => {
  const [program = "", ...args] = command
  const child = spawn(program, args, { ...nobody, cwd: "/", env: { ...env, POD_IP: address }, stdio: "ignore" })
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()))
  const login = `root:${encodeURIComponent(password)}`
  const client = new MongoClient(`mongodb://${login}@${address}:27017/?authSource=admin`, {
    serverSelectionTimeoutMS: 2_000
  })
  await eventually("an answer of the server", async () => {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`)
    await client.db("admin").command({ ping: 1 })
  })
  return {
    client,
    stop: async () => {
      await client.close()
      child.kill("SIGTERM")
      await ended
    }
  }
}
