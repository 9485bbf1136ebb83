/* retry_picture.c — refusals of pictures, files and sounds. Source: protocols/models.md §4. */
#include "retry_priv.h"

#include "runtime/model/wire_part.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define HAS_WORD(text, ...)                                        \
    sma_retry_has_word((text), (const char *const[]){__VA_ARGS__}, \
                       sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* It never takes them, whichever it is. */
static const char *find_kind(const char *said)
{
    if (HAS_WORD(said, "input_audio*not supported", "unknown variant `input_audio`",
                 "does not support audio", "audio input is not", "audio inputs are not"))
        return SMA_REFUSES_AUDIO;
    if (HAS_WORD(said, "unknown variant `file`", "unknown variant `document`",
                 "does not support pdf", "does not support document", "does not support file",
                 "file inputs are not supported", "file input is not supported",
                 "pdf input is not supported", "invalid value: 'file'",
                 "invalid value: 'input_file'"))
        return SMA_REFUSES_DOCUMENTS;
    if (HAS_WORD(said, "unknown variant `image_url`", "does not support image", "not support image",
                 "support image input", "image input is not", "image inputs are not",
                 "images are not supported", "is not a multimodal", "not a vision",
                 "does not support vision", "does not support multimodal",
                 "image_url is only supported by", "invalid value: 'image_url'",
                 "invalid value: 'input_image'", "content must be a string", "不支持图片",
                 "不支持图像"))
        return SMA_REFUSES_IMAGES;
    return NULL;
}

static bool is_about_one(const struct sma_wire_error *error)
{
    return strncasecmp(error->code, "image_", 6) == 0 ||
           strncasecmp(error->type, "image_", 6) == 0 ||
           strncasecmp(error->code, "invalid_image", 13) == 0 ||
           HAS_WORD(error->said, "image exceeds", "max bytes per data-uri",
                    "could not process image", "could not process pdf", "invalid image",
                    "unsupported image", "image*unsupported", "failed to decode image",
                    "cannot identify image", "image data", "image_url", "image url", "image.source",
                    "document.source", "image dimensions", "image*too large", "invalid base64",
                    "media_type", "media type", "pdf*password", "pdf pages", "invalid pdf",
                    "file_data", "图片");
}

bool sma_retry_judge_picture(const struct sma_failure *failure, struct sma_failure_verdict *verdict)
{
    const struct sma_wire_error *error = &failure->error;
    const char *member = find_kind(error->said);
    if (member == NULL && (atol(error->code) == 1210 || HAS_WORD(error->said, "图片输入格式")))
        member = SMA_REFUSES_DATA_URLS;
    if (member == NULL && HAS_WORD(error->said, "too many images", "number of images",
                                   "at most*images", "images per request"))
        member = SMA_PARTS_TOO_MANY;
    if (member == NULL && !is_about_one(error))
        return false;
    verdict->retry = SMA_RETRY_NO;
    verdict->trouble = SMA_MODEL_FAILURE_PICTURE;
    snprintf(verdict->refused_member, sizeof verdict->refused_member, "%s",
             member == NULL ? "" : member);
    return true;
}
