/**
 * The parts that the pages of `braid ui` have in common, which run in a browser: how they follow the server, and
 * tables, filters, links and troubles. The pages have it as the text of the class, so it can use nothing from outside
 * but types.
 */

import type * as Lit from "lit-html"
import type { PageCluster } from "../../../domain/commands/ui/page-cluster.ts"
import type { PageEvents, PageInput, PageWindow } from "./page-browser.ts"

export type Template = Lit.TemplateResult | typeof Lit.nothing

/** Draws what more than one page has. Only the text of this class reaches the browser. */
export class PageParts {
  /** A sentence for when the command that serves the page does not answer. */
  readonly away = "braid does not answer, so this is the last known state. Start it again, and open its new link."
  readonly lit: typeof Lit
  readonly window: PageWindow
  #events: PageEvents | undefined
  #follow: (() => void) | undefined

  constructor(lit: typeof Lit, window: PageWindow) {
    this.lit = lit
    this.window = window
  }

  /** The model that the document has in it. */
  model(): unknown {
    return JSON.parse(this.window.document.getElementById("model")?.textContent ?? "null")
  }

  /** Draws the page, in the same elements as before. */
  draw(page: Template): void {
    const root = this.window.document.getElementById("root")
    if (root !== null) this.lit.render(page, root as never)
  }

  /**
   * Follows a stream of the server while the page is seen: a page that is not seen asks the clusters nothing. Following
   * again ends what was followed before.
   */
  follow(url: () => string, heard: (message: unknown) => void, setAway: (isAway: boolean) => void): void {
    const { document } = this.window
    if (this.#follow === undefined)
      document.addEventListener("visibilitychange", () => (document.hidden ? this.#leave() : this.#follow?.()))
    this.#leave()
    this.#follow = () => {
      if (this.#events !== undefined) return
      const events = new this.window.EventSource(url())
      this.#events = events
      events.onopen = () => setAway(false)
      events.onerror = () => setAway(true)
      events.addEventListener("message", ({ data }) => heard(JSON.parse(data)))
    }
    if (!document.hidden) this.#follow()
  }

  #leave(): void {
    this.#events?.close()
    this.#events = undefined
  }

  /** The words of a filter, in lower case. */
  words({ target }: PageInput): ReadonlyArray<string> {
    return target.value.toLowerCase().split(/\s+/u).filter(Boolean)
  }

  /** Links to the pages of this server. `here`: this page. */
  links(here: "fleet" | "usage", hasFleet: boolean): Template {
    const { html, nothing } = this.lit
    const link = (page: "fleet" | "usage", path: string, name: string): Template =>
      html`<a href=${path} aria-current=${page === here ? "page" : nothing}>${name}</a>`
    return html`<nav aria-label="Pages">
      ${hasFleet ? link("fleet", "./", "Fleet") : nothing} ${link("usage", "usage", "Use")}
    </nav>`
  }

  /**
   * Why the page is not the present state. `away`: what to say of a server that does not answer; `undefined` if it
   * does.
   */
  troubles(
    away: string | undefined,
    problem: { readonly message: string; readonly fix: string } | undefined,
    before: string
  ): Template {
    const { html, nothing } = this.lit
    return html`${away === undefined ? nothing : html`<p class="problem" id="away">${away}</p>`}
    ${
      problem === undefined
        ? nothing
        : html`<p class="problem" id="problem">${before} ${problem.message} ${problem.fix}</p>`
    }`
  }

  heads(...names: ReadonlyArray<string>): ReadonlyArray<Template> {
    return names.map((name) => this.lit.html`<th scope="col">${name}</th>`)
  }

  /** A table that scrolls where the screen is too narrow for it. */
  table(label: string, head: unknown, rows: ReadonlyArray<Template>): Template {
    const { html } = this.lit
    return html`<div class="scroll" role="region" tabindex="0" aria-label=${label}>
      <table>
        <thead>
          <tr>
            ${head}
          </tr>
        </thead>
        <tbody>
          ${rows}
        </tbody>
      </table>
    </div>`
  }

  /** The clusters, each with its state now. */
  clusters(clusters: ReadonlyArray<PageCluster>): Template {
    const { html } = this.lit
    const row = (cluster: PageCluster): Template =>
      html`<tr>
        <th scope="row">${cluster.name}</th>
        <td class="nowrap"><span class="look ${cluster.look}">${cluster.state}</span> ${cluster.age}</td>
        <td class="long">${cluster.reason} <span class="soft">${cluster.fix}</span></td>
        <td>${cluster.roles}</td>
        <td class="nowrap">${cluster.version}</td>
        <td>
          <span class="look ${cluster.credentials === "" ? "" : cluster.credentialsLook}">${cluster.credentials}</span>
        </td>
        <td>${cluster.sessions}</td>
      </tr>`
    const head = this.heads("Cluster", "State", "Why, and what to do", "Role", "Operator", "Credentials", "Sessions")
    return this.table("Clusters", head, clusters.map(row))
  }
}
