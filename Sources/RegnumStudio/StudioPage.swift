// SPDX-License-Identifier: Apache-2.0
// The files of the page, which are in the folder Page and embedded in the program.

enum StudioPage {
    private static let script = "text/javascript; charset=utf-8"

    /// The file at a path; nil if there is none.
    static func file(_ path: String) -> (type: String, bytes: [UInt8])? {
        switch path {
        case "/", "/index.html": return ("text/html; charset=utf-8", PackageResources.index_html)
        case "/style.css": return ("text/css; charset=utf-8", PackageResources.style_css)
        case "/icon.svg": return ("image/svg+xml", PackageResources.icon_svg)
        default:
            guard path.hasPrefix("/"), path.hasSuffix(".js") else { return nil }
            return scripts[String(path.dropFirst().dropLast(3))].map { (type: script, bytes: $0()) }
        }
    }

    /// The modules by their names.
    static let scripts: [String: @Sendable () -> [UInt8]] = [
        "api": { PackageResources.api_js }, "commands": { PackageResources.commands_js },
        "dom": { PackageResources.dom_js }, "editor": { PackageResources.editor_js },
        "exchange": { PackageResources.exchange_js }, "format": { PackageResources.format_js },
        "graph": { PackageResources.graph_js }, "grid": { PackageResources.grid_js },
        "live": { PackageResources.live_js }, "main": { PackageResources.main_js },
        "maintenance": { PackageResources.maintenance_js }, "overlay": { PackageResources.overlay_js },
        "panel": { PackageResources.panel_js }, "query": { PackageResources.query_js },
        "rows": { PackageResources.rows_js }, "sidebar": { PackageResources.sidebar_js },
        "state": { PackageResources.state_js }, "values": { PackageResources.values_js },
    ]
}
