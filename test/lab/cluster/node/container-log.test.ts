import { assert, it } from "vitest"
import { ContainerLog } from "../../../../lab/cluster/node/container-log.ts"

const now = () => 0

const collect = async (lines: AsyncIterable<string>): Promise<ReadonlyArray<string>> => {
  const all: Array<string> = []
  for await (const line of lines) all.push(line)
  return all
}

it("keeps the newest lines within both bounds", async () => {
  const log = new ContainerLog(now, { lines: 3, characters: 10 })
  for (const line of ["1", "2", "3", "4"]) log.append(line)
  assert.deepStrictEqual(await collect(log.read()), ["2", "3", "4"])
  assert.deepStrictEqual(await collect(log.read({ tailLines: 1 })), ["4"])
  log.append("123456789")
  assert.deepStrictEqual(await collect(log.read()), ["4", "123456789"])
})

it("a follower that was overtaken goes on with the oldest line that is left, and ends with the log", async () => {
  const log = new ContainerLog(now, { lines: 2, characters: 100 })
  log.append("a")
  const reader = log.read({ follow: true })[Symbol.asyncIterator]()
  assert.deepStrictEqual(await reader.next(), { done: false, value: "a" })
  for (const line of ["b", "c", "d"]) log.append(line)
  assert.deepStrictEqual(await reader.next(), { done: false, value: "c" })
  log.end()
  assert.deepStrictEqual(await reader.next(), { done: false, value: "d" })
  assert.strictEqual((await reader.next()).done, true)
})

it("a follower that waits can leave", async () => {
  const reader = new ContainerLog(now).read({ follow: true })[Symbol.asyncIterator]()
  const waiting = reader.next()
  await reader.return?.()
  assert.strictEqual((await waiting).done, true)
})

it("begins with the lines since a time, and puts each line's time in front", async () => {
  let time = Date.UTC(2026, 0, 2, 3, 4, 5)
  const log = new ContainerLog(() => time++)
  for (const line of ["a", "b", "c"]) log.append(line)
  assert.deepStrictEqual(await collect(log.read({ since: time - 2, timestamps: true })), [
    "2026-01-02T03:04:05.001000000Z b",
    "2026-01-02T03:04:05.002000000Z c"
  ])
})
