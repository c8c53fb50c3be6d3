import { mkdtempSync, renameSync, rmSync, symlinkSync, mkdirSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Logger, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { assert, describe } from "vitest"
import { createAuthority, type KeyPair } from "../../../lab/cluster/http/pki.ts"
import { readCertificateFiles, watchServingCertificate } from "../../../src/app/certificates/certificate-watch.ts"
import { it } from "../../support/effect-it.ts"

const pair = Effect.promise(async () =>
  (await createAuthority("authority", Date.now)).issue({ commonName: "mirrord-operator" })
)

/** Two files that a test writes, and everything that is logged. */
const scene = Effect.gen(function* () {
  const [first, second] = [yield* pair, yield* pair]
  let files: { readonly certPem: string; readonly keyPem: string } | undefined = first
  let reads = 0
  const read = Effect.suspend(() => {
    reads++
    return files === undefined
      ? Effect.fail({ message: "ENOENT" })
      : Effect.succeed({ certificatePem: files.certPem, keyPem: Redacted.make(files.keyPem) })
  })
  const told: Array<string> = []
  const remember = Effect.provide(Logger.layer([Logger.map(Logger.formatJson, (line) => void told.push(line))]))
  return { first, second, read, told, remember, write: (next: typeof files) => void (files = next), reads: () => reads }
})

describe("the serving certificate", () => {
  it.effect("that is renewed is served, and whoever listens is told once", function* () {
    const { first, read, remember, second, told, write } = yield* scene
    const source = yield* remember(watchServingCertificate(read))
    let changes = 0
    source.listen(() => void changes++)
    const served = () => [source.known().certificatePem, Redacted.value(source.known().keyPem)]
    yield* TestClock.adjust("1 hour")
    assert.deepStrictEqual([served(), changes, told], [[first.certPem, first.keyPem], 0, []])
    write(second)
    yield* TestClock.adjust("1 minute")
    assert.deepStrictEqual([served(), changes], [[second.certPem, second.keyPem], 1])
    yield* TestClock.adjust("1 hour")
    assert.strictEqual(changes, 1)
    assert.lengthOf(told, 1)
    assert.include(told[0], "a renewed serving certificate is served")
  })

  it.effect("stays while the files cannot be used; each reason is told once, and never a key", function* () {
    const { first, read, remember, second, told, write } = yield* scene
    const source = yield* remember(watchServingCertificate(read))
    const useless: ReadonlyArray<Partial<KeyPair> | undefined> = [
      undefined,
      { keyPem: second.keyPem },
      { certPem: second.certPem },
      { certPem: "no PEM" },
      { keyPem: second.keyPem.slice(0, 80) }
    ]
    for (const change of useless) {
      const before = told.length
      write(change === undefined ? undefined : { ...first, ...change })
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual(source.known().certificatePem, first.certPem)
      assert.lengthOf(told, before + 1)
      write(first)
      yield* TestClock.adjust("1 minute")
    }
    for (const line of told) {
      assert.include(line, "the old serving certificate stays")
      for (const { keyPem } of [first, second]) assert.notInclude(line, keyPem.slice(40, 72))
    }
    write(second)
    yield* TestClock.adjust("1 minute")
    assert.strictEqual(source.known().certificatePem, second.certPem)
  })

  it.effect("must be usable at the start, and is not looked at any more in the end", function* () {
    const { first, read, reads, second, write } = yield* scene
    yield* Effect.scoped(watchServingCertificate(read))
    const before = reads()
    yield* TestClock.adjust("1 hour")
    assert.strictEqual(reads(), before)
    write({ ...first, keyPem: second.keyPem })
    assert.include(
      (yield* Effect.flip(watchServingCertificate(read))).message,
      "the serving certificate cannot be used"
    )
    write(undefined)
    assert.include((yield* Effect.flip(watchServingCertificate(read))).message, "ENOENT")
  })

  it.effect("is read where a kubelet puts it, which exchanges a link to the folder", function* () {
    const [first, second] = [yield* pair, yield* pair]
    const folder = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "braid-tls-"))),
      (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
    )
    const publish = (version: string, { certPem, keyPem }: KeyPair): void => {
      mkdirSync(join(folder, version))
      writeFileSync(join(folder, version, "tls.crt"), certPem)
      writeFileSync(join(folder, version, "tls.key"), keyPem)
      symlinkSync(version, join(folder, "..data_tmp"))
      renameSync(join(folder, "..data_tmp"), join(folder, "..data"))
    }
    publish("..1", first)
    for (const name of ["tls.crt", "tls.key"]) symlinkSync(join("..data", name), join(folder, name))
    const read = readCertificateFiles({ certificatePath: join(folder, "tls.crt"), keyPath: join(folder, "tls.key") })
    assert.strictEqual((yield* read).certificatePem, first.certPem)
    publish("..2", second)
    rmSync(join(folder, "..1"), { recursive: true })
    const { certificatePem, keyPem } = yield* read
    assert.deepStrictEqual([certificatePem, Redacted.value(keyPem)], [second.certPem, second.keyPem])
    rmSync(join(folder, "..2"), { recursive: true })
    assert.include((yield* Effect.flip(read)).message, "ENOENT")
  })
})
