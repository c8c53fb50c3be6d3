import { createPrivateKey, sign } from "node:crypto"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { afterAll, beforeAll } from "vitest"
import { doctorSuite } from "../app/doctor/doctor-suite.ts"
import { type ControlPlane, startControlPlane } from "./control-plane.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url")

/** The server issues no token for less than ten minutes, so one that is over is signed here, with its key. */
const expiredToken = async (plane: ControlPlane, namespace: string, name: string): Promise<string> => {
  const key = createPrivateKey(await readFile(join(plane.directory, "service-accounts.key"), "utf8"))
  const issuer = "https://kubernetes.default.svc"
  const now = Math.floor(Date.now() / 1000)
  const claims = { iss: issuer, aud: [issuer], sub: `system:serviceaccount:${namespace}:${name}`, iat: now - 90_000, nbf: now - 90_000, exp: now - 3_600, "kubernetes.io": { namespace, serviceaccount: { name } } }
  const unsigned = `${base64url({ alg: "RS256" })}.${base64url(claims)}`
  return `${unsigned}.${sign("sha256", Buffer.from(unsigned), key).toString("base64url")}`
}

describeKubernetes("with kube-apiserver", (assets) => {
  let plane: ControlPlane
  beforeAll(async () => {
    plane = await startControlPlane({ name: "doctor", assets })
  })
  afterAll(() => plane.close())

  doctorSuite(() => ({ ...plane, expiredTokenOf: (namespace, name) => expiredToken(plane, namespace, name) }))
})
