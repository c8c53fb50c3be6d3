/**
 * The network namespace of a Node program that runs as a pod's process on this machine, loaded before the program
 * (`--import <this file>?address=127.40.1.0&subnet=40`). When the program listens on all addresses or on its published
 * address, it gets the pod's own loopback address; when it dials `10.<subnet>.x.y`, it reaches that pod of its cluster
 * (see `publishedAddresses`). The program itself needs no change.
 */

import { createRequire } from "node:module"
import type * as Net from "node:net"
import { isObject } from "../../../src/domain/json.ts"
import { publishedAddresses } from "./pod-addresses.ts"

type Method = (this: unknown, ...args: Array<unknown>) => unknown

const here = new URL(import.meta.url).searchParams
const own = here.get("address") ?? "127.0.0.1"
const addresses = publishedAddresses(Number(here.get("subnet")))
const net = createRequire(import.meta.url)("node:net") as typeof Net

const isAnyAddress = (host: unknown): boolean =>
  host === undefined || host === null || host === "" || host === "::" || host === "0.0.0.0"
const dialHost = (host: unknown): unknown => (typeof host === "string" ? addresses.real(host) : host)
const listenHost = (host: unknown): unknown => (isAnyAddress(host) ? own : dialHost(host))

/** The arguments of `listen` and `connect` with another host. Arguments for a path or a handle stay as they are. */
const withHost = (args: ReadonlyArray<unknown>, map: (host: unknown) => unknown): ReadonlyArray<unknown> => {
  const [first, second, ...rest] = args
  // Node's own modules pass options and callback in one marked list.
  if (Array.isArray(first)) {
    const list = first as Array<unknown>
    if (isObject(list[0]) && "port" in list[0]) list[0] = { ...list[0], host: map(list[0]["host"]) }
    return args
  }
  if (isObject(first)) return "port" in first ? [{ ...first, host: map(first["host"]) }, second, ...rest] : args
  if (typeof first !== "number" && !(typeof first === "string" && /^\d+$/u.test(first))) return args
  return typeof second === "string" ? [first, map(second), ...rest] : [first, map(undefined), second, ...rest]
}

const patch = (prototype: object, name: "listen" | "connect", map: (host: unknown) => unknown): void => {
  const original = Reflect.get(prototype, name) as Method
  const replaced: Method = function (...args) {
    return original.call(this, ...withHost(args, map))
  }
  Reflect.set(prototype, name, replaced)
}

patch(net.Server.prototype, "listen", listenHost)
patch(net.Socket.prototype, "connect", dialHost)
