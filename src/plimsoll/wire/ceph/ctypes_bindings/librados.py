"""The functions of librados that are called, as librados.h declares them."""

from ctypes import POINTER, c_char_p, c_int, c_size_t, c_ubyte, c_uint8, c_uint64, c_void_p

from plimsoll.wire.ceph.ctypes_bindings.shared_library import SharedLibrary

HANDLE = c_void_p
HANDLE_OUT = POINTER(c_void_p)
TEXT_OUT = POINTER(c_void_p)
"""Not read as a text: the address is needed to free it."""
TEXTS, SIZES, NUMBER_OUT = POINTER(c_char_p), POINTER(c_size_t), POINTER(c_int)

LIBRADOS = SharedLibrary(
    "librados.so.2",
    {
        "rados_create2": (c_int, HANDLE_OUT, c_char_p, c_char_p, c_uint64),
        "rados_conf_set": (c_int, HANDLE, c_char_p, c_char_p),
        "rados_connect": (c_int, HANDLE),
        "rados_shutdown": (None, HANDLE),
        "rados_cluster_fsid": (c_int, HANDLE, c_char_p, c_size_t),
        "rados_getaddrs": (c_int, HANDLE, TEXT_OUT),
        "rados_wait_for_latest_osdmap": (c_int, HANDLE),
        "rados_mon_command": (
            *(c_int, HANDLE, TEXTS, c_size_t, c_char_p, c_size_t),
            *(TEXT_OUT, SIZES, TEXT_OUT, SIZES),
        ),
        "rados_buffer_free": (None, c_void_p),
        "rados_ioctx_create": (c_int, HANDLE, c_char_p, HANDLE_OUT),
        "rados_ioctx_destroy": (None, HANDLE),
        "rados_ioctx_set_namespace": (None, HANDLE, c_char_p),
        "rados_set_pool_full_try": (None, HANDLE),
        "rados_stat": (c_int, HANDLE, c_char_p, POINTER(c_uint64), c_void_p),
        "rados_remove": (c_int, HANDLE, c_char_p),
        "rados_nobjects_list_open": (c_int, HANDLE, HANDLE_OUT),
        "rados_nobjects_list_next2": (
            *(c_int, HANDLE, TEXT_OUT, TEXT_OUT, TEXT_OUT),
            *(SIZES, SIZES, SIZES),
        ),
        "rados_nobjects_list_close": (None, HANDLE),
        "rados_create_read_op": (HANDLE,),
        "rados_release_read_op": (None, HANDLE),
        "rados_read_op_omap_get_vals2": (
            *(None, HANDLE, c_char_p, c_char_p, c_uint64, HANDLE_OUT, POINTER(c_ubyte)),
            NUMBER_OUT,
        ),
        "rados_read_op_omap_get_vals_by_keys2": (
            *(None, HANDLE, TEXTS, c_size_t, SIZES, HANDLE_OUT, NUMBER_OUT),
        ),
        "rados_read_op_operate": (c_int, HANDLE, HANDLE, c_char_p, c_int),
        "rados_omap_get_next2": (c_int, HANDLE, TEXT_OUT, TEXT_OUT, SIZES, SIZES),
        "rados_omap_get_end": (None, HANDLE),
        "rados_create_write_op": (HANDLE,),
        "rados_release_write_op": (None, HANDLE),
        "rados_write_op_create": (None, HANDLE, c_int, c_char_p),
        "rados_write_op_omap_cmp2": (
            *(None, HANDLE, c_char_p, c_uint8, c_char_p, c_size_t, c_size_t, NUMBER_OUT),
        ),
        "rados_write_op_omap_set2": (None, HANDLE, TEXTS, TEXTS, SIZES, SIZES, c_size_t),
        "rados_write_op_omap_rm_keys2": (None, HANDLE, TEXTS, SIZES, c_size_t),
        "rados_write_op_operate": (c_int, HANDLE, HANDLE, c_char_p, c_void_p, c_int),
    },
)
