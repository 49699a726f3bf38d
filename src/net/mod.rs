//! HTTP for who needs it: one client with its settings of TLS, redirects, proxies and bounds, and what went wrong in words.
