/** The relays that are compared, and how each of them is started between the generator's client and its members. */

import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import net from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { image } from "../../../scripts/image.mjs"

/** The generator's members listen on the ports behind this port, the relays on those ten above. */
const firstPort = 14_100
const memberAddresses = [1, 2, 3].map((number) => `127.0.0.1:${firstPort + number}`)
const [defaultAddress = ""] = memberAddresses
const path = "/apis/operator.metalbear.co/v1/namespaces/ns/targets/deployment.x?connect=true"

/** Time before a measurement in which nothing counts. The relays live through all measurements, so that it is short. */
const warmUp = "400ms"

/** The CPUs of the generator and of the relay, which must not share a CPU. */
const cpus = { relay: "0", generator: "1" }

export interface Relay {
  readonly name: string
  readonly port: number
  /** Without a relay, the generator's client talks to its member. */
  readonly command: ReadonlyArray<string> | undefined
  /** The members are agents' raw streams. */
  readonly isRaw: boolean
  /** Carries messages between one client and many members. */
  readonly isRouter: boolean
}

/** A folder with the generator, its certificate and the relays' configuration. */
export class Workshop {
  readonly folder = mkdtempSync(join(tmpdir(), "braid-relay-"))
  readonly generator = join(this.folder, "generator")
  readonly isTls: boolean
  readonly #children: Array<ChildProcess> = []

  constructor(isTls: boolean) {
    this.isTls = isTls
    const cwd = fileURLToPath(new URL("generator", import.meta.url))
    execFileSync("go", ["build", "-o", this.generator, "."], { cwd, stdio: "inherit" })
    execFileSync(this.generator, ["cert", this.folder])
  }

  /** Starts a relay and waits until it listens. */
  async start({ command, name, port }: Relay): Promise<number> {
    if (command === undefined) return 0
    const child = spawn("taskset", ["-c", cpus.relay, ...command], {
      env: { ...process.env, ...(this.isTls ? { TLS: this.folder } : {}) },
      stdio: ["ignore", "ignore", "inherit"]
    })
    this.#children.push(child)
    for (let tries = 0; tries < 1_200; tries++) {
      if (await listens(port)) return child.pid ?? 0
      await sleep(50)
    }
    throw new Error(`the relay ${name} does not listen on port ${port}`)
  }

  /** Runs one measurement; gives the generator's line. */
  measure<T>(relay: Relay, pid: number, members: number, args: ReadonlyArray<string>): T {
    const url =
      relay.command === undefined ? `${defaultAddress}/x` : `127.0.0.1:${relay.port}${path}&members=${members}`
    const all = [
      ...["-members", memberAddresses.slice(0, members).join(",")],
      ...["-url", url, "-proxy-pid", String(pid), "-warm", warmUp],
      ...(relay.isRaw ? ["-raw"] : []),
      ...(this.isTls ? ["-tls", "-certs", this.folder] : []),
      ...args
    ]
    const text = execFileSync("taskset", ["-c", cpus.generator, this.generator, ...all], {
      encoding: "utf8",
      timeout: 300_000
    })
    return JSON.parse(text) as T
  }

  close(): void {
    for (const child of this.#children) child.kill("SIGKILL")
    rmSync(this.folder, { recursive: true, force: true })
  }
}

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1", () => {
      socket.destroy()
      resolve(true)
    })
    socket.on("error", () => resolve(false))
  })

/** The program's path, if this machine has it. */
const found = (program: string): string | undefined => {
  try {
    return execFileSync("sh", ["-c", `PATH=$PATH:/usr/sbin command -v ${program}`], { encoding: "utf8" }).trim()
  } catch {
    return undefined
  }
}

const haproxy = (workshop: Workshop, program: string, port: number): ReadonlyArray<string> => {
  const { folder, isTls } = workshop
  const pem = join(folder, "haproxy.pem")
  writeFileSync(pem, readFileSync(join(folder, "tls.crt"), "utf8") + readFileSync(join(folder, "tls.key"), "utf8"))
  const file = join(folder, "haproxy.cfg")
  writeFileSync(
    file,
    `global
  nbthread 1
  maxconn 3000
defaults
  mode http
  timeout connect 5s
  timeout client 1h
  timeout server 1h
  timeout tunnel 1h
frontend f
  bind 127.0.0.1:${port} ${isTls ? `ssl crt ${pem}` : ""}
  default_backend b
backend b
  server s ${defaultAddress} ${isTls ? "ssl verify none" : ""}
`
  )
  return [program, "-db", "-q", "-f", file]
}

const nginx = (workshop: Workshop, program: string, port: number): ReadonlyArray<string> => {
  const { folder, isTls } = workshop
  const file = join(folder, "nginx.conf")
  const certificate = `ssl_certificate ${folder}/tls.crt; ssl_certificate_key ${folder}/tls.key;`
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
  writeFileSync(
    file,
    `daemon off;
master_process off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log ${folder}/nginx-error.log;
events { worker_connections 8192; }
http {
  access_log off;
${temporary.map((name) => `  ${name}_temp_path ${folder}/nginx-${name};`).join("\n")}
  server {
    listen 127.0.0.1:${port} ${isTls ? "ssl" : ""};
    ${isTls ? certificate : ""}
    location / {
      proxy_pass ${isTls ? "https" : "http"}://${defaultAddress};
      proxy_http_version 1.1;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection "upgrade";
      proxy_read_timeout 1h;
      proxy_send_timeout 1h;
    }
  }
}
`
  )
  return [program, "-p", folder, "-e", join(folder, "nginx-error.log"), "-c", file]
}

const wsRelay = fileURLToPath(new URL("./ws-relay.ts", import.meta.url))
const productRelay = fileURLToPath(new URL("./product.ts", import.meta.url))

/** All relays that this machine can run. The relay called `ours` is the product as primary, `ours-agent` as member. */
export const relaysOf = (workshop: Workshop): ReadonlyArray<Relay> => {
  let port = firstPort + 10
  const relays: Array<Relay> = []
  const add = (name: string, commandFor: (port: number) => ReadonlyArray<string>, kind: Partial<Relay> = {}): void => {
    port++
    relays.push({ name, port, command: commandFor(port), isRaw: false, isRouter: false, ...kind })
  }
  const [haproxyProgram, nginxProgram] = [found("haproxy"), found("nginx")]
  if (haproxyProgram !== undefined) add("haproxy", (at) => haproxy(workshop, haproxyProgram, at))
  if (nginxProgram !== undefined) add("nginx", (at) => nginx(workshop, nginxProgram, at))
  const node = process.execPath
  if (!workshop.isTls) add("ws-relay", (at) => [node, wsRelay, String(at), defaultAddress])
  const product = (kind: string) => (at: number) => [
    ...[node, "--expose-gc", ...image.options, productRelay, kind, String(at)],
    ...memberAddresses
  ]
  add("ours", product("cluster"), { isRouter: true })
  add("ours-agent", product("agent"), { isRouter: true, isRaw: true })
  return relays
}
