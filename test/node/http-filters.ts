/** Filters for stolen requests, and requests that they choose and leave. */

type Requests = ReadonlyArray<readonly [path: string, headers: Readonly<Record<string, string>>]>

interface HttpFilter {
  readonly what: string
  /** The part `http_filter` of the client's configuration. */
  readonly http_filter: object
  readonly stolen: Requests
  readonly left: Requests
}

export const httpFilters: ReadonlyArray<HttpFilter> = [
  {
    what: "by header",
    http_filter: { header_filter: "^x-user: ann$" },
    stolen: [["/0", { "x-user": "ann" }]],
    left: [
      ["/0", { "x-user": "bob" }],
      ["/api/0", {}]
    ]
  },
  {
    what: "by path",
    http_filter: { path_filter: "^/api/" },
    stolen: [["/api/1", {}]],
    left: [["/shop/api/1", {}]]
  },
  {
    what: "by header and path together",
    http_filter: { all_of: [{ header: "^x-user: ann$" }, { path: "^/api/" }] },
    stolen: [["/api/2", { "x-user": "ann" }]],
    left: [
      ["/api/2", { "x-user": "bob" }],
      ["/shop/2", { "x-user": "ann" }]
    ]
  },
  {
    what: "by either of two filters",
    http_filter: { any_of: [{ header: "^x-user: ann$" }, { path: "^/api/" }] },
    stolen: [
      ["/api/3", { "x-user": "bob" }],
      ["/shop/3", { "x-user": "ann" }]
    ],
    left: [["/shop/3", { "x-user": "bob" }]]
  }
]
