import { describe, expect, it } from "vitest"
import {
  localLines,
  readLocalSession,
  sessionAfter,
  withLocalEvent
} from "../../../../src/domain/commands/ui/local-session.ts"
import { readSessionEvent, sessionEventText } from "../../../../src/domain/commands/ui/session-event.ts"
import {
  fileOfSession,
  isLeftBehind,
  sessionOfFile,
  socketFailure,
  socketProblem
} from "../../../../src/domain/commands/ui/session-socket.ts"
import { omit } from "../../../../src/domain/json.ts"
import recorded from "../../../app/commands/ui/session-sockets.json" with { type: "json" }

const session = readLocalSession(recorded.info)

describe("a session of this machine", () => {
  it("is read without arguments of processes, and without texts of its configuration", () => {
    expect(session).toEqual(recorded.read)
    expect(JSON.stringify(session)).not.toContain("secret")
  })

  it("is none without a field that mirrord's programs want, and is one without the others", () => {
    for (const field of recorded.required) expect(readLocalSession(omit(recorded.info, field)), field).toBeUndefined()
    for (const field of recorded.optional) expect(readLocalSession(omit(recorded.info, field)), field).toBeDefined()
  })

  it.each([
    [{}, true, true],
    [{ feature: { fs: { local: ["/tmp"] } } }, true, true],
    [{}, false, false],
    [{ feature: { magic: { auto_mount: false } } }, true, false],
    [{ feature: { fs: { read_only: ["^/etc/app"] } } }, true, false],
    [{ feature: { fs: { mode: "read" } } }, true, false],
    [{ feature: { fs: "local" } }, true, false]
  ])("has a line about mounted files where the client adds none of them: %j over clusters %s", (config, over, has) => {
    const lines = localLines(readLocalSession({ ...recorded.info, config }) ?? recorded.read, over)
    expect(lines.some((line) => line.includes("feature.fs.read_only"))).toBe(has)
  })

  it("has its processes and ports after each event", () => {
    const after = recorded.events.reduce((known, { sent }) => {
      const event = readSessionEvent(sent)
      return known && event ? sessionAfter(sessionAfter(known, event), event) : known
    }, session)
    expect(after).toEqual({ ...recorded.read, ...recorded.after })
  })
})

describe("a deed of a process", () => {
  it.each(recorded.events)("is read whole or not at all: $sent.type", ({ read, sent, text }) => {
    const event = readSessionEvent(sent)
    expect(event).toEqual(text === undefined ? undefined : (read ?? sent))
    expect(event && sessionEventText(event)).toBe(text)
  })

  it("is only counted where the one before was the same, and the oldest are forgotten", () => {
    const once = withLocalEvent([], "looks up db", 1)
    expect(withLocalEvent(once, "looks up db", 2)).toEqual([{ at: 2, text: "looks up db", count: 2 }])
    const many = Array.from({ length: 300 }, (_, i) => `${i}`).reduce((all, text) => withLocalEvent(all, text, 0), once)
    expect([many.length, many[0]?.text]).toEqual([200, "299"])
  })
})

describe("a session's socket", () => {
  it.each<[Parameters<typeof isLeftBehind>, boolean]>([
    [["refused", 1_000], true],
    [["refused", 999], false],
    [["absent", 60_000], false],
    [["unreadable", 60_000], false]
  ])("is left behind only if no program listens, and not at once: %j", (found, expected) => {
    expect(isLeftBehind(...found)).toBe(expected)
  })

  it.each([
    ["ECONNREFUSED", "refused"],
    ["ENOENT", "absent"],
    ["ECONNRESET", "unreadable"],
    ["EACCES", "unreadable"],
    [undefined, "unreadable"]
  ])("failed with %s: %s", (code, expected) => {
    expect(socketFailure(code)).toBe(expected)
  })

  it("has the session's id as its name, which is one name of a file", () => {
    expect(sessionOfFile(fileOfSession("AB"))).toBe("AB")
    for (const file of ["AB.pipe", ".sock", "AB.sock.new", "notes.txt"]) expect(sessionOfFile(file)).toBeUndefined()
    for (const id of ["../x", "a/b", "", ".", "..", "a\\b"]) expect(socketProblem("/s", id), id).toContain("slashes")
    expect(socketProblem("/s", "AB")).toBeUndefined()
    expect(socketProblem(`/${"s".repeat(96)}`, "AB")).toContain("105 bytes")
  })
})
