"""Screens of other machines through VNC and RDP clients, and the VNC server for a live view.

`remote_session` keeps the client connected, `remote_client` builds its command, `vnc` serves a screen.
"""
