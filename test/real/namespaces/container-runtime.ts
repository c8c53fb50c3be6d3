/**
 * The node's container runtime, as far as an agent asks it: a docker socket that knows the process and the environment
 * of each container. It is also the guard: an agent makes rules in the network namespace of the process that it is
 * told, so a process in the machine's own network namespace is told to nobody.
 */

import * as http from "node:http"
import { networkOf } from "./machine-network.ts"

export interface ContainerProcess {
  readonly pid: number
  readonly env: ReadonlyMap<string, string>
}

export class ContainerRuntime {
  readonly socket: string
  readonly #containers = new Map<string, ContainerProcess>()
  readonly #server = http.createServer((request, response) => this.#answer(request, response))

  /** @param socket the path of the unix socket */
  constructor(socket: string) {
    this.socket = socket
  }

  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject).listen(this.socket, resolve)
    })
  }

  stop(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  /** @param id without `docker://` */
  add(id: string, process: ContainerProcess): void {
    this.#containers.set(id, process)
  }

  remove(id: string): void {
    this.#containers.delete(id)
  }

  pidOf(id: string): number | undefined {
    return this.#containers.get(id)?.pid
  }

  #answer({ url = "" }: http.IncomingMessage, response: http.ServerResponse): void {
    const path = url.replace(/\?.*$/, "").replace(/^\/v[\d.]+/, "")
    if (path === "/_ping") return void response.end("OK")
    const id = /^\/containers\/([^/]+)\/json$/.exec(path)?.[1]
    const found = id === undefined ? undefined : this.#containers.get(id)
    const problem = found === undefined ? "no such container" : processProblem(found.pid)
    response.writeHead(problem === undefined ? 200 : 404, { "content-type": "application/json" })
    response.end(
      JSON.stringify(
        found === undefined || problem !== undefined
          ? { message: problem }
          : { State: { Pid: found.pid }, Config: { Env: [...found.env].map(([name, value]) => `${name}=${value}`) } }
      )
    )
  }
}

const processProblem = (pid: number): string | undefined => {
  try {
    return networkOf(pid) === networkOf("self")
      ? `process ${pid} is in the machine's own network namespace, where no agent may work`
      : undefined
  } catch {
    return `process ${pid} is gone`
  }
}
