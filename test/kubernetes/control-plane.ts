import { execFile } from "node:child_process"
import { sign } from "node:crypto"
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import type { KeyPair } from "../../lab/cluster/http/pki.ts"
import {
  type ControlPlane as RunningPlane,
  type ControlPlaneOptions as PlaneOptions,
  files,
  startControlPlane as start,
  tokenIssuer
} from "../../lab/playground/kubernetes/control-plane.ts"
import { programsIn } from "../../lab/playground/kubernetes/programs.ts"

/** The seconds for which an API server accepts an expired token. */
const tokenLeeway = 60

/** Tokens of a cluster that its API server has not made, although it takes them for its own. */
interface Tokens {
  /** A token that is accepted for so many seconds from now. A TokenRequest allows no less than ten minutes. */
  readonly shortTokenOf: (namespace: string, serviceAccount: string, seconds: number) => Promise<string>
  /** A token that was issued so many seconds ago and expires in so many. */
  readonly agedTokenOf: (
    namespace: string,
    serviceAccount: string,
    age: { readonly seconds: number; readonly left: number }
  ) => Promise<string>
  /** A token that expired an hour ago. */
  readonly expiredTokenOf: (namespace: string, serviceAccount: string) => Promise<string>
}

/** A real control plane, with operations that only tests need. */
export interface ControlPlane extends RunningPlane, Tokens {
  /**
   * Makes every older resourceVersion too old: compacts etcd, and restarts the API server because of its watch cache.
   */
  readonly forgetHistory: () => Promise<void>
  /**
   * Restarts the API server with another client certificate for aggregated APIs, and with its authority.
   */
  readonly useFrontProxy: (authorityPem: string, identity: KeyPair) => Promise<void>
}

export interface ControlPlaneOptions extends Omit<PlaneOptions, "programs"> {
  /** Folder of the programs, as `npm run kubernetes` prints it. */
  readonly assets: string
}

/** `kubectl`: path of the program. */
export const tokensOf = ({ directory, kubeconfigPath }: RunningPlane, kubectl: string): Tokens => {
  /** A token of the account that expires at `end`, signed here with the server's key. */
  const tokenUntil = async (namespace: string, account: string, end: number, from = end - 600): Promise<string> => {
    const asked = ["get", "serviceaccount", account, "--namespace", namespace, "--output=jsonpath={.metadata.uid}"]
    const { stdout: uid } = await promisify(execFile)(kubectl, [`--kubeconfig=${kubeconfigPath}`, ...asked])
    const claims = {
      aud: [tokenIssuer],
      exp: end,
      iat: from,
      nbf: from,
      iss: tokenIssuer,
      "kubernetes.io": { namespace, serviceaccount: { name: account, uid } },
      sub: `system:serviceaccount:${namespace}:${account}`
    }
    const signed = [{ alg: "RS256", typ: "JWT" }, claims]
      .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
      .join(".")
    const signature = sign("sha256", Buffer.from(signed), await readFile(join(directory, files.accountKey)))
    return `${signed}.${signature.toString("base64url")}`
  }
  const secondsNow = (): number => Math.floor(Date.now() / 1000)
  return {
    shortTokenOf: (namespace, account, seconds) => tokenUntil(namespace, account, secondsNow() - tokenLeeway + seconds),
    agedTokenOf: (namespace, account, { left, seconds }) =>
      tokenUntil(namespace, account, secondsNow() + left, secondsNow() - seconds),
    expiredTokenOf: (namespace, account) => tokenUntil(namespace, account, secondsNow() - 3_600)
  }
}

export const startControlPlane = async ({ assets, ...options }: ControlPlaneOptions): Promise<ControlPlane> => {
  const programs = programsIn(assets)
  const plane = await start({ ...options, programs })
  const file = (name: string): string => join(plane.directory, name)
  return {
    ...plane,
    ...tokensOf(plane, programs.kubectl),
    forgetHistory: async () => {
      const call = async (path: string, body: object): Promise<unknown> => {
        const answer = await fetch(`${plane.etcdUrl}${path}`, { method: "POST", body: JSON.stringify(body) })
        if (!answer.ok) throw new Error(`etcd ${path}: ${answer.status} ${await answer.text()}`)
        return answer.json()
      }
      // A new revision, so that the newest revision so far becomes too old as well.
      const { header } = (await call("/v3/kv/put", { key: "Zm9yZ2V0", value: "" })) as {
        readonly header: { readonly revision: string }
      }
      await call("/v3/kv/compaction", { revision: header.revision, physical: true })
      await plane.restart()
    },
    useFrontProxy: async (authorityPem, { certPem, keyPem }) => {
      await Promise.all([
        writeFile(file(files.frontProxyCa), authorityPem),
        writeFile(file(`${files.frontProxyClient}.crt`), certPem),
        writeFile(file(`${files.frontProxyClient}.key`), keyPem)
      ])
      await plane.restart()
    }
  }
}
