"""phpMyAdmin by Debian, served by PHP's own server, in a real browser: phpmyadmin.py CACHE"""
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

from playwright.sync_api import sync_playwright

E = os.environ
SOURCE = Path("/usr/share/phpmyadmin")
FOLDER = Path(sys.argv[1]) / "phpmyadmin"
CONFIG = """<?php
$cfg['blowfish_secret'] = 'only for a test on this machine..';
$cfg['TempDir'] = '%s';
$cfg['SendErrorReports'] = 'never';
$cfg['VersionCheck'] = false;
$cfg['Servers'][1] = ['host' => '%s', 'port' => '%s', 'auth_type' => 'config', 'user' => '%s', 'password' => '%s', 'AllowNoPassword' => false];
"""


def prepare():
    """A copy whose configuration is ours."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    shutil.copytree(SOURCE, FOLDER / "web", symlinks=False, ignore_dangling_symlinks=True)
    (FOLDER / "tmp").mkdir()
    config = FOLDER / "config.inc.php"
    config.write_text(CONFIG % (FOLDER / "tmp", E["DB_HOST"], E["DB_PORT"], E["DB_USER"], E["DB_PASSWORD"]))
    vendor = FOLDER / "web/libraries/vendor_config.php"
    text = vendor.read_text().replace("/etc/phpmyadmin/config.inc.php", str(config))
    vendor.write_text(text.replace("/var/lib/phpmyadmin/", f"{FOLDER}/"))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def serve(port):
    log = open(FOLDER / "php.log", "wb")
    command = ["php", "-d", "memory_limit=512M", "-S", f"127.0.0.1:{port}", "-t", str(FOLDER / "web")]
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    for _ in range(200):
        try:
            urlopen(f"http://127.0.0.1:{port}/index.php", timeout=20).read()
            return child
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("PHP's server does not answer")


def steady(text):
    """Without times, tokens and what tells the port."""
    text = re.sub(r"Query took [\d.]+ seconds", "Query took (time)", text)
    text = re.sub(r"127\.0\.0\.1(:\d+| via TCP/IP)?", "(server)", text)
    return " ".join(text.split())


def table(page, selector="table.table_results"):
    page.wait_for_selector(selector, state="attached")
    for row in page.query_selector_all(f"{selector} tbody tr"):
        print("row", [steady(cell.inner_text()) for cell in row.query_selector_all("td")][-40:], flush=True)


def query(page, base, sql):
    page.goto(f"{base}/index.php?route=/database/sql&db=drv")
    page.wait_for_selector("#button_submit_query", state="attached")
    page.evaluate("sql => { const e = document.querySelector('.CodeMirror'); if (e) e.CodeMirror.setValue(sql); document.querySelector('#sqlquery').value = sql; }", sql)
    page.click("#button_submit_query")
    page.wait_for_selector("#sqlqueryresultsouter *, .alert-danger, .alert-success, table.table_results", state="attached")
    page.wait_for_load_state("networkidle")
    for box in page.query_selector_all(".alert-danger, .alert-success"):
        if box.is_visible():
            print("says", sql, "|", steady(box.inner_text())[:400], flush=True)
    if page.query_selector("table.table_results"):
        table(page)


def visit(page, base):
    page.goto(f"{base}/index.php?route=/database/structure&db=drv")
    page.wait_for_selector("#tablesForm table", state="attached")
    for row in page.query_selector_all("#tablesForm tbody tr"):
        cell = row.query_selector("th")
        print("table", steady(cell.inner_text()) if cell else "-", flush=True)
    page.goto(f"{base}/index.php?route=/sql&db=drv&table=types&pos=0")
    table(page)
    page.goto(f"{base}/index.php?route=/table/structure&db=drv&table=types")
    page.wait_for_selector("#tablestructure", state="attached")
    for row in page.query_selector_all("#tablestructure tbody tr"):
        print("column", steady(row.inner_text())[:200], flush=True)
    query(page, base, "SELECT n, square FROM numbers WHERE n < 5 ORDER BY n")
    query(page, base, "SELECT nowhere FROM numbers")


def main():
    versions = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "phpmyadmin"], capture_output=True, text=True)
    print("##version", versions.stdout)
    prepare()
    port = free_port()
    server = serve(port)
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_page()
            page.set_default_timeout(60000)
            base = f"http://127.0.0.1:{port}"
            page.goto(f"{base}/index.php")
            page.wait_for_selector("#pma_navigation_tree a", state="attached")
            print("errors at the start", [steady(b.inner_text()) for b in page.query_selector_all(".alert-danger") if b.is_visible()], flush=True)
            visit(page, base)
            query(page, base, "INSERT INTO items (name, n) VALUES ('phpmyadmin 😀', 5)")
            query(page, base, "INSERT INTO items (name, n) VALUES ('phpmyadmin 😀', 5)")
            query(page, base, "CALL two_results()")
            query(page, base, "UPDATE items SET n = n + 1")
            query(page, base, "SELECT * FROM items")
            print("##sync", flush=True)
            sys.stdin.readline()
            visit(page, base)
            browser.close()
    finally:
        server.kill()
        server.wait()
    print("##end", flush=True)


main()
