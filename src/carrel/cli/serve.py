"""`carrel serve`: the HTTP interface, the MCP endpoint and the sweep, in one process or several."""

import os
from urllib.parse import urlencode

import click

from carrel.cli import output
from carrel.cli.options import Shared, shared_options
from carrel.errors import Unavailable
from carrel.home.address import is_address

PORT = 8420


class ServerMissing(Unavailable):
    """What a server is made of is not installed."""

    code = "server_missing"

    def __init__(self) -> None:
        super().__init__("The server is not installed.", hint="pip install 'carrel[server]'")


@click.command()
@click.argument("more", nargs=-1, metavar="[DIR]...")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65_535), default=PORT, show_default=True, help="0: any free.")
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Processes.")
@click.option("--allow-host", "hosts", multiple=True, metavar="NAME", help="Another name of this server.")
@click.option("--tls-cert", "certificate", default="", metavar="FILE", help="A certificate, to speak TLS.")
@click.option("--tls-key", "private_key", default="", metavar="FILE", help="Its private key.")
@click.option("--behind-proxy", "proxy", default="", metavar="ADDRESS", help="A proxy that speaks TLS.")
@shared_options
def serve(  # noqa: PLR0917 - each is an option
    shared: Shared,
    more: tuple[str, ...],
    host: str,
    port: int,
    workers: int,
    hosts: tuple[str, ...],
    certificate: str,
    private_key: str,
    proxy: str,
) -> None:
    r"""Serve workspaces over HTTP, and do meanwhile what waits in their queues.

    Prints one line with a link that lets your browser in; its token also works as a bearer token. On any
    other address than this machine's own it speaks TLS, or stands behind a proxy that does. Any number of
    servers may serve one pg:// address; CARREL_TOKEN gives them all one token.

    \b
    Examples:
      carrel serve
      carrel serve one-agent another-agent --port 9000
      carrel serve pg://acme/studio
      carrel serve --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem --allow-host agents.example
    """
    try:
        from carrel.http import server, token  # noqa: PLC0415 - it takes most of a second
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("carrel"):
            raise
        raise ServerMissing from None
    directories = tuple(more) or (str(shared.root),)
    for directory in directories:
        _look_at(shared, directory)
    is_kept = not all(map(is_address, directories))
    own_token, path = token.find_token(os.environ, keep=is_kept)
    options = server.Options(
        directories=tuple(map(_named, directories)),
        token=own_token,
        host=host,
        port=port,
        workers=workers,
        hosts=hosts,
        certificate=certificate,
        private_key=private_key,
        proxy=proxy,
    )
    with server.listen(options) as taken:
        address = _address(host, taken.getsockname()[1], is_secret=bool(certificate))
        link = f"{address}/login?{urlencode({'token': options.token})}"
        if shared.as_json:
            output.document({"url": address, "link": link, "token_file": str(path or "")})
        else:
            output.line(f"Carrel is at {link}")
        server.serve(options, taken)


def _named(directory: str) -> str:
    return directory if is_address(directory) else os.path.abspath(directory)  # noqa: PTH100 - links are kept


def _look_at(shared: Shared, directory: str) -> None:
    """Find out now, and not with the first request, that a workspace cannot be opened."""
    with Shared(directory=directory, agent=shared.agent).open(team=True) as workspace:
        _ = workspace.layout


def _address(host: str, port: int, *, is_secret: bool) -> str:
    name = f"[{host}]" if ":" in host else host
    return f"{'https' if is_secret else 'http'}://{name}:{port}"
