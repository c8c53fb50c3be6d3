/** Files below the container's root, and the requests that the reference agent does not serve. */

import * as fs from "node:fs"
import * as os from "node:os"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { AgentFiles, type FileAnswer } from "../../../../lab/agent/files/agent-files.ts"
import type { FileRequest } from "../../../../src/domain/protocol/file-messages.ts"

let outside: string
let root: string
let files: AgentFiles

beforeEach(() => {
  outside = fs.mkdtempSync(`${os.tmpdir()}/agent-files-`)
  root = `${outside}/root`
  fs.mkdirSync(`${root}/etc`, { recursive: true })
  fs.writeFileSync(`${outside}/secret`, "secret")
  fs.writeFileSync(`${root}/etc/hostname`, "pod\n")
  files = new AgentFiles(root)
})
afterEach(() => {
  files.close()
  fs.rmSync(outside, { recursive: true, force: true })
})

const options = { read: true, write: false, append: false, truncate: false, create: false, createNew: false }
const handle = (request: FileRequest): FileAnswer => files.handle(request)
const open = (path: string, openOptions = options) => handle({ _tag: "Open", value: { path, openOptions } })
const stat = (path: string) => handle({ _tag: "Xstat", value: { path, fd: null, followSymlink: true } })
const opened = (fd: bigint): unknown => ({
  _tag: "Answer",
  response: { _tag: "Open", value: { _tag: "Ok", value: { fd } } }
})
const failed = (_tag: string, kind: string, rawOsError: number | null): unknown => ({
  _tag: "Answer",
  response: { _tag, value: { _tag: "Err", error: { _tag: "RemoteIO", value: { rawOsError, kind: { _tag: kind } } } } }
})

describe("the container's root", () => {
  it("is where absolute paths and links start", () => {
    fs.symlinkSync("/etc/hostname", `${root}/absolute`)
    fs.symlinkSync("../etc", `${root}/etc/self`)
    expect(open("/absolute")).toEqual(opened(0n))
    expect(open("/etc/self/self/hostname")).toEqual(opened(1n))
    expect(handle({ _tag: "Read", value: { remoteFd: 0n, bufferSize: 10n } })).toMatchObject({
      response: { value: { value: { readAmount: 4n } } }
    })
  })

  it("cannot be left, by dots or by links", () => {
    fs.symlinkSync("../secret", `${root}/up`)
    fs.symlinkSync("../../secret", `${root}/etc/up`)
    fs.symlinkSync(`${outside}/secret`, `${root}/host`)
    fs.symlinkSync("../../..", `${root}/etc/dots`)
    for (const path of ["/../secret", "/etc/../../secret", "/up", "/etc/up", "/etc/dots/secret"]) {
      expect({ path, answer: stat(path) }).toEqual({ path, answer: failed("Xstat", "NotFound", null) })
    }
    expect(stat("/host")).toEqual(failed("Xstat", "NotFound", 2))
    expect(open("/../secret")).toEqual(failed("Open", "NotFound", null))
  })
})

describe("what the reference agent does not serve", () => {
  it.each(["write", "append", "truncate", "create", "createNew"] as const)("no file is opened to %s", (flag) => {
    expect(open("/etc/hostname", { ...options, [flag]: true })).toEqual(failed("Open", "ReadOnlyFilesystem", 30))
    expect(fs.readFileSync(`${root}/etc/hostname`, "utf8")).toBe("pod\n")
  })

  it.each<[string, FileRequest]>([
    ["Unlink", { _tag: "UnlinkAt", value: { dirfd: null, pathname: "/etc/hostname", flags: 0 } }],
    ["MakeDir", { _tag: "MakeDir", value: { pathname: "/new", mode: 0o755 } }],
    ["Rename", { _tag: "Rename", value: { oldPath: "/etc/hostname", newPath: "/moved" } }]
  ])("%s is refused as on a read-only file system", (answer, request) => {
    expect(handle(request)).toEqual(failed(answer, "ReadOnlyFilesystem", 30))
    expect(fs.readdirSync(`${root}/etc`)).toEqual(["hostname"])
  })

  it.each<[string, FileRequest]>([
    ["OpenDir", { _tag: "FdOpenDir", value: { remoteFd: 0n } }],
    ["XstatFs", { _tag: "StatFs", value: { path: "/" } }]
  ])("%s is not supported", (answer, request) => {
    expect(handle(request)).toEqual(failed(answer, "Unsupported", null))
  })
})

it("does not block on a FIFO", async () => {
  const { execFileSync } = await import("node:child_process")
  execFileSync("mkfifo", [`${root}/pipe`])
  expect(open("/pipe")).toEqual(opened(0n))
  const seek: FileRequest = { _tag: "Seek", value: { fd: 0n, seekFrom: { _tag: "Start", value: 0n } } }
  expect(handle(seek)).toEqual(failed("Seek", "NotSeekable", 29))
})

it("reads more than one answer holds in several", () => {
  fs.writeFileSync(`${root}/big`, Buffer.alloc(40 * 1024 * 1024))
  open("/big")
  const sizes: Array<bigint> = []
  for (let size = 1n; size > 0n;) {
    const answer = handle({ _tag: "Read", value: { remoteFd: 0n, bufferSize: 1n << 40n } })
    if (answer._tag !== "Answer" || answer.response._tag !== "Read" || answer.response.value._tag !== "Ok")
      return expect.fail("no data")
    size = answer.response.value.value.readAmount
    sizes.push(size)
  }
  expect(sizes).toEqual([32n * 1024n * 1024n, 8n * 1024n * 1024n, 0n])
})

it("closes what was left open", () => {
  const before = fs.readdirSync("/proc/self/fd").length
  for (let i = 0; i < 5; i++) open("/etc/hostname")
  files.close()
  expect(fs.readdirSync("/proc/self/fd").length).toBe(before)
})
