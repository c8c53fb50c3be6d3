import { EventEmitter } from "node:events"
import { describe, expect, it } from "vitest"
import { noteListeners } from "../../../src/adapters/websocket/added-listeners.ts"

describe("listeners of a library", () => {
  it("are removed, those from before stay, also when they are the same function", () => {
    const emitter = new EventEmitter()
    const heard: Array<string> = []
    const ours = (): void => void heard.push("ours")
    emitter.on("data", ours)
    emitter.once("close", ours)
    const remove = noteListeners(emitter)
    emitter.on("data", () => heard.push("theirs"))
    emitter.on("data", ours)
    emitter.once("close", () => heard.push("theirs"))
    emitter.on("end", () => heard.push("theirs"))
    remove()
    for (const event of ["data", "close", "close", "end"]) emitter.emit(event)
    expect(heard).toEqual(["ours", "ours"])
    expect(emitter.eventNames()).toEqual(["data"])
  })
})
